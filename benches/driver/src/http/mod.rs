//! The same call over HTTP on loopback: what it costs the server, how long it takes, what an idle session occupies.

mod authorized;
mod client;
mod era;
mod server;
mod tokens;

use std::time::Duration;

pub use authorized::{CACHED_JWT, KNOWN_TOKENS, NEW_JWT};
pub use era::Era;

use crate::{
    Result,
    cpu::{self, Usage, least, per_call},
    options::{Lengths, Options},
    placement,
    report::{self, Report},
    subject::Subject,
    valgrind,
};
use client::Client;
use server::Server;

pub const CONNECTIONS: usize = 64;

/// Sessions opened before memory is first read, and those added after: together no more than our default limit.
const SESSIONS: [usize; 2] = [50, 950];

pub fn measure(options: &Options, report: &mut Report) -> Result<()> {
    for subject in &options.subjects {
        smoke_test(*subject).map_err(|error| format!("{subject} over HTTP: {error}"))?;
    }
    // On one core the order of client and server is stable, and with it how often a request wakes the server.
    placement::on_one_core(|| instructions(options, report))?;
    if options.subjects.contains(&Subject::Ours) {
        placement::on_one_core(|| authorized::instructions(options.lengths, report))?;
    }
    if !options.counts {
        processor_time(&options.subjects, options.lengths, report)?;
    }
    for subject in options.subjects.iter().filter(|subject| subject.has_sessions()) {
        eprintln!("measuring sessions: {subject}");
        report.add(report::SESSION_MEMORY, *subject, session_memory(*subject)?);
    }
    for subject in &options.subjects {
        report.add(report::HTTP_BINARY, *subject, subject.http_program()?.stripped_size()?);
    }
    Ok(())
}

/// Both eras on one server, one connection after the other.
fn smoke_test(subject: Subject) -> Result<()> {
    let mut server = Server::start(subject.http_program()?.command())?;
    for era in Era::ALL {
        let clients = server.connect(era, 2)?;
        server.call(clients, 6)?;
    }
    server.stop()
}

fn instructions(options: &Options, report: &mut Report) -> Result<()> {
    for subject in &options.subjects {
        for era in Era::ALL {
            eprintln!("counting instructions: {subject}, HTTP {era}");
            let program = subject.http_program()?;
            let count = valgrind::instructions_per_call(&program, options.lengths, |command, calls| {
                let mut server = Server::start(command)?;
                let client = server.connect(era, 1)?;
                server.call(client, calls)?;
                server.stop()
            })?;
            report.add(report::http_instructions(era), *subject, count);
        }
    }
    Ok(())
}

/// One core first, where figures repeat; then all cores, as in real life; then server and client on a core each, for how
/// long a call takes: with more threads than cores that would mostly be how long the scheduler lets others wait.
fn processor_time(subjects: &[Subject], lengths: Lengths, report: &mut Report) -> Result<()> {
    for era in Era::ALL {
        eprintln!("measuring HTTP {era} on one core");
        for samples in placement::on_one_core(|| rounds(start(subjects, era)?, lengths))? {
            report.add(report::http_sequential(era), samples.subject, least(&samples.sequential));
            report.add(report::http_parallel(era), samples.subject, least(&samples.parallel));
        }
        eprintln!("measuring HTTP {era} on all cores");
        for samples in rounds(start(subjects, era)?, lengths)? {
            report.add(report::http_free_parallel(era), samples.subject, least(&samples.parallel));
        }
        eprintln!("measuring HTTP {era} on a core each");
        let start = || start(subjects, era);
        for samples in placement::apart(start, |runners| rounds(runners, lengths))? {
            report.add(report::http_latency(era, 50), samples.subject, least(&samples.half));
            report.add(report::http_latency(era, 99), samples.subject, least(&samples.most));
        }
    }
    Ok(())
}

/// What the rounds of one server measured. Nanoseconds per call are microseconds per thousand calls.
struct Samples {
    subject: Subject,
    sequential: Vec<f64>,
    parallel: Vec<f64>,
    /// Percentiles of the time a call took with all connections busy, in microseconds.
    half: Vec<f64>,
    most: Vec<f64>,
}

struct Runner {
    server: Server,
    one: Vec<Client>,
    many: Vec<Client>,
    samples: Samples,
}

fn start(subjects: &[Subject], era: Era) -> Result<Vec<Runner>> {
    subjects.iter().map(|subject| Runner::start(*subject, era)).collect()
}

/// Rounds go A B C A B C, so that a slow minute of the machine hits every server alike.
fn rounds(mut runners: Vec<Runner>, lengths: Lengths) -> Result<Vec<Samples>> {
    for runner in &mut runners {
        runner.round(lengths.http_calls)?;
        runner.samples.forget();
    }
    for _ in 0..lengths.http_rounds {
        for runner in &mut runners {
            runner.round(lengths.http_calls)?;
        }
    }
    runners.into_iter().map(Runner::stop).collect()
}

impl Runner {
    fn start(subject: Subject, era: Era) -> Result<Self> {
        let server = Server::start(subject.http_program()?.command())?;
        let (one, many) = (server.connect(era, 1)?, server.connect(era, CONNECTIONS)?);
        let samples =
            Samples { subject, sequential: Vec::new(), parallel: Vec::new(), half: Vec::new(), most: Vec::new() };
        Ok(Self { server, one, many, samples })
    }

    fn round(&mut self, calls: usize) -> Result<()> {
        let process = self.server.process_id();
        let before = Usage::of(process)?;
        let (one, times) = self.server.call(std::mem::take(&mut self.one), calls)?;
        self.one = one;
        let between = Usage::of(process)?;
        self.samples.sequential.push(per_call(between.nanoseconds - before.nanoseconds, times.len()));
        let (many, mut times) = self.server.call(std::mem::take(&mut self.many), calls)?;
        self.many = many;
        let after = Usage::of(process)?;
        self.samples.parallel.push(per_call(after.nanoseconds - between.nanoseconds, times.len()));
        times.sort();
        self.samples.half.push(percentile(&times, 50));
        self.samples.most.push(percentile(&times, 99));
        Ok(())
    }

    fn stop(self) -> Result<Samples> {
        self.server.stop()?;
        Ok(self.samples)
    }
}

impl Samples {
    fn forget(&mut self) {
        self.sequential.clear();
        self.parallel.clear();
        self.half.clear();
        self.most.clear();
    }
}

/// Microseconds.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)].as_secs_f64() * 1e6
}

/// What one more session adds to the resident memory.
#[expect(clippy::cast_precision_loss, reason = "a thousand sessions")]
fn session_memory(subject: Subject) -> Result<f64> {
    let server = Server::start(subject.http_program()?.command())?;
    let [first, more] = SESSIONS;
    server.open_sessions(first)?;
    let before = cpu::resident_memory(server.process_id())?;
    server.open_sessions(more)?;
    let after = cpu::resident_memory(server.process_id())?;
    server.stop()?;
    Ok((after - before) / more as f64)
}
