//! Processor time, context switches and peak memory of a server, as the kernel accounts them.

use std::fs;

use crate::{
    Result,
    options::Lengths,
    placement,
    report::{self, Report},
    server::Server,
    subject::Subject,
    work::Tool,
};

const WINDOW: usize = 64;

/// The resources the kernel has charged to a process so far.
#[derive(Clone, Copy)]
pub struct Usage {
    pub nanoseconds: u64,
    switches: u64,
}

/// What the rounds of one server measured. Nanoseconds per call are microseconds per thousand calls.
struct Samples {
    subject: Subject,
    sequential: Vec<f64>,
    pipelined: Vec<f64>,
    switches: Vec<f64>,
    peak_memory: f64,
}

impl Samples {
    fn forget(&mut self) {
        self.sequential.clear();
        self.pipelined.clear();
        self.switches.clear();
    }
}

struct Runner {
    server: Server,
    samples: Samples,
}

/// Measures on one core, where figures repeat, and then wherever the scheduler likes, as in real life.
pub fn measure(subjects: &[Subject], lengths: Lengths, report: &mut Report) -> Result<()> {
    eprintln!("measuring CPU on one core");
    for runner in placement::on_one_core(|| run(subjects, lengths))? {
        report.add(report::ONE_CORE_SEQUENTIAL, runner.subject, least(&runner.sequential));
        report.add(report::ONE_CORE_PIPELINED, runner.subject, least(&runner.pipelined));
    }
    // Sequential time is not reported here: it depends on which core the scheduler wakes, more than on the server.
    eprintln!("measuring CPU on all cores");
    for runner in run(subjects, lengths)? {
        report.add(report::FREE_PIPELINED, runner.subject, least(&runner.pipelined));
        report.add(report::SWITCHES, runner.subject, median(runner.switches));
        report.add(report::MEMORY, runner.subject, runner.peak_memory);
    }
    Ok(())
}

/// Rounds go A B C A B C, so that a slow minute of the machine hits every server alike.
fn run(subjects: &[Subject], lengths: Lengths) -> Result<Vec<Samples>> {
    let mut runners = subjects.iter().map(|subject| Runner::start(*subject)).collect::<Result<Vec<_>>>()?;
    for runner in &mut runners {
        runner.round(lengths.timed_calls)?;
        runner.samples.forget();
    }
    for _ in 0..lengths.rounds {
        for runner in &mut runners {
            runner.round(lengths.timed_calls)?;
        }
    }
    runners.into_iter().map(Runner::stop).collect()
}

impl Runner {
    fn start(subject: Subject) -> Result<Self> {
        let server = Server::start(subject.program()?.command())?;
        let samples =
            Samples { subject, sequential: Vec::new(), pipelined: Vec::new(), switches: Vec::new(), peak_memory: 0.0 };
        Ok(Self { server, samples })
    }

    fn round(&mut self, calls: usize) -> Result<()> {
        let process = self.server.process_id();
        let before = Usage::of(process)?;
        self.server.call_sequentially(Tool::Add, calls)?;
        let between = Usage::of(process)?;
        self.server.call_pipelined(Tool::Add, calls, WINDOW)?;
        let after = Usage::of(process)?;

        self.samples.sequential.push(per_call(between.nanoseconds - before.nanoseconds, calls));
        self.samples.switches.push(per_call(between.switches - before.switches, calls));
        self.samples.pipelined.push(per_call(after.nanoseconds - between.nanoseconds, calls));
        Ok(())
    }

    /// Reads the high-water mark of memory while the process still exists, then ends it.
    fn stop(mut self) -> Result<Samples> {
        self.samples.peak_memory = peak_memory(self.server.process_id())?;
        self.server.stop()?;
        Ok(self.samples)
    }
}

impl Usage {
    /// Sums over the threads; none of them ends during a round.
    pub fn of(process: u32) -> Result<Self> {
        let mut usage = Self { nanoseconds: 0, switches: 0 };
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            let thread = thread?.path();
            let schedule = fs::read_to_string(thread.join("schedstat"))?;
            let running = schedule.split_whitespace().next().ok_or("empty schedstat")?;
            usage.nanoseconds += running.parse::<u64>()?;
            usage.switches += status_field(&fs::read_to_string(thread.join("status"))?, "voluntary_ctxt_switches:")?;
        }
        Ok(usage)
    }
}

/// Bytes of resident memory now.
#[expect(clippy::cast_precision_loss, reason = "memory stays far below 2^52 bytes")]
pub fn resident_memory(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    Ok((status_field(&status, "VmRSS:")? * 1024) as f64)
}

/// Bytes of resident memory at the highest.
#[expect(clippy::cast_precision_loss, reason = "memory stays far below 2^52 bytes")]
fn peak_memory(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    Ok((status_field(&status, "VmHWM:")? * 1024) as f64)
}

fn status_field(status: &str, label: &str) -> Result<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(label)).ok_or_else(|| format!("no {label}"))?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "a round takes less than 2^52 nanoseconds")]
pub fn per_call(total: u64, calls: usize) -> f64 {
    total as f64 / calls as f64
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The round that was disturbed least: whatever else the machine does only ever adds.
pub fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}
