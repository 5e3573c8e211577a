//! One scenario from start to end: a server, the good client alone, then the attackers beside it.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::Result;
use crate::attacker::Attack;
use crate::figures::Figures;
use crate::good::GoodClient;
use crate::options::{Options, Subject};
use crate::process::Server;
use crate::scenario::{Needs, Scenario, leftovers};

/// An attack ends early when the server has this many MiB: it has failed long before, and the machine is not ours alone.
const CEILING: f64 = 2048.0;

const WARM_UP: Duration = Duration::from_millis(300);

/// The priority of the attackers' thread. In real life they have their own processors; here the server comes first.
const NICENESS: i32 = 5;

/// What the good client and the kernel say about a scenario.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) figures: Figures,
    /// MiB.
    pub(crate) peak: Option<f64>,
    /// Seconds.
    pub(crate) cpu: Option<f64>,
    /// What else was wrong.
    pub(crate) faults: Vec<String>,
    /// What the attackers sent, if that is too little to prove anything.
    pub(crate) weak: Option<usize>,
    /// What the attackers got.
    pub(crate) note: String,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Measured(Measured),
    /// Why there is nothing to measure.
    Skipped(&'static str),
}

pub(crate) fn scenario(scenario: &'static Scenario, options: &Options, descriptors: usize) -> Result<Outcome> {
    if let Some(why) = unfit(scenario, &options.subject) {
        return Ok(Outcome::Skipped(why));
    }
    let mut server = Server::of(&options.subject, scenario.setup)?;
    let runtime = attackers_runtime()?;
    let good = GoodClient::start(&server.target, IpAddr::from(Ipv4Addr::LOCALHOST), scenario.duties);
    thread::sleep(WARM_UP);
    let alone = Instant::now();
    thread::sleep(options.size.baseline());

    let addresses = Attack::addresses(options.same_address, options.addresses);
    let attack = Attack::new(server.target.clone(), options.size, addresses, descriptors);
    server.forget_peak();
    let (cpu, attacked) = (server.cpu(), Instant::now());
    runtime.spawn((scenario.run)(attack.clone()));
    let mut note = String::new();
    let mut faults = if scenario.needs == Needs::Long {
        let (faults, figures) = leftovers::watch(&server, options.size);
        note = format!("; {figures}");
        faults
    } else {
        supervise(&mut server, attacked + options.size.attack()).into_iter().collect()
    };
    // The attack goes on until the last call has its answer, or has waited too long for it.
    good.stop();
    while good.is_busy() {
        thread::sleep(Duration::from_millis(10));
    }
    let (peak, after) = (server.peak(), server.cpu());
    runtime.shutdown_background();
    if !server.is_alive() {
        faults.push("the server ended".to_owned());
    }
    faults.extend((scenario.check)(&attack.tally));
    note.insert_str(0, &attack.tally.text());
    let sent = attack.tally.sent();
    let weak = (sent < scenario.least).then_some(sent);
    let cpu = cpu.zip(after).map(|(before, after)| after - before);
    let figures = Figures::of(&good.samples(), alone, attacked);
    Ok(Outcome::Measured(Measured { figures, peak, cpu, faults, weak, note }))
}

fn unfit(scenario: &Scenario, subject: &Subject) -> Option<&'static str> {
    match (subject, scenario.needs) {
        (Subject::Ours, _) | (_, Needs::Nothing) => None,
        (_, Needs::Tasks) => Some("needs our task tools"),
        (_, Needs::Sse) => Some("needs HTTP+SSE"),
        (Subject::Other { .. }, Needs::OwnProcess) => Some("needs a server started by the driver"),
        (_, Needs::OwnProcess) => None,
        (_, Needs::Long) => Some("needs our tools"),
    }
}

/// One thread is enough for all attackers, and leaves the server the rest of a small machine.
fn attackers_runtime() -> Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_start(|| {
            // On Linux this is the priority of the thread.
            let _ = rustix::process::setpriority_process(None, NICENESS);
        })
        .build()?;
    Ok(runtime)
}

/// Waits for the end of the attack, or of what the machine can bear, and says if it was the latter.
fn supervise(server: &mut Server, end: Instant) -> Option<String> {
    while Instant::now() < end && server.is_alive() {
        thread::sleep(Duration::from_millis(50));
        if server.resident().is_some_and(|resident| resident > CEILING) {
            return Some(format!("stopped at {CEILING} MiB"));
        }
    }
    None
}
