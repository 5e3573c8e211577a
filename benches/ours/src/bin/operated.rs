//! What operators need, and what it costs: `operated MODE` is a server with one of it, for the driver, which counts
//! instructions.
//!
//! Without arguments, it compares the CPU time per call of `add` over stdio: it starts itself as a server in each mode, sends calls
//! in batches to one after the other, and reads the servers' CPU time from `/proc`.
#![forbid(unsafe_code)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_runtime::RateLimit;
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::observe::{AccessLog, Finished, Spans};
use mcp_runtime::prelude::*;

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Multiply two integers: with a layer and limits of its own.
#[tool(layer = pass, rate = "1000000/s", burst = 1_000_000)]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

/// The least that a layer can do.
async fn pass(call: Call, next: Next) -> Outcome {
    next.run(call).await
}

/// `again` is the first once more: what it differs by is noise.
const MODES: [(&str, &str); 8] = [
    ("nothing", "nothing"),
    ("again", "nothing, once more"),
    ("elsewhere", "a layer and a rate limit on another tool"),
    ("layer", "a layer that does nothing"),
    ("rate", "a rate limit per user"),
    ("observer", "an observer that counts"),
    ("access", "`AccessLog`, no subscriber"),
    ("spans", "`Spans`, no subscriber"),
];
/// So many are in flight, so that the server reads several at once.
const BATCH: usize = 100;
/// The calls of a server before the next one has its turn: 20 ms, in which the machine changes little.
const CALLS: usize = 2_000;
const ROUNDS: usize = 1_000;

fn main() -> Result<()> {
    match std::env::args().nth(1) {
        Some(mode) => serve(&mode),
        None => compare(),
    }
}

#[tokio::main]
async fn serve(mode: &str) -> Result<()> {
    let server = Server::new("bench", "1").tools(tools![add]);
    let count = Arc::new(AtomicU64::new(0));
    let server = match mode {
        "elsewhere" => server.tools(tools![multiply]),
        "layer" => server.layer(pass),
        "rate" => server.rate_limit(RateLimit::per_second(1_000_000_000)),
        "observer" => server.observe(move |request: &Finished<'_>| {
            count.fetch_add(request.bytes_out as u64, Ordering::Relaxed);
        }),
        "access" => server.observe(AccessLog),
        "spans" => server.spans(Spans::new()),
        _ => server,
    };
    Ok(server.serve_stdio().await?)
}

/// All servers run at once, and take turns: a round's difference to the first server is of the same moment.
#[allow(clippy::print_stdout, reason = "this is its output")]
fn compare() -> Result<()> {
    let mut servers = MODES.iter().map(|(mode, _)| Running::start(mode)).collect::<Result<Vec<_>>>()?;
    let mut times = vec![Vec::with_capacity(ROUNDS); servers.len()];
    for round in 0..ROUNDS + ROUNDS / 10 {
        for (server, times) in servers.iter_mut().zip(&mut times) {
            let time = server.measure()?;
            if round >= ROUNDS / 10 {
                times.push(time);
            }
        }
    }
    println!("| | ns of CPU time per call | more than without, median of {ROUNDS} pairs | 95 % of the time |");
    println!("|---|--:|--:|--:|");
    for (mine, (_, what)) in times.iter().zip(MODES) {
        let more = sorted(mine.iter().zip(&times[0]).map(|(mine, without)| mine - without));
        let [low, high] = median_interval(&more);
        println!(
            "| {what} | {:.0} | {:.0} | {low:.0} to {high:.0} |",
            median(&sorted(mine.iter().copied())),
            median(&more)
        );
    }
    Ok(())
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Where the median is, with a probability of 95 %: the ranks of a binomial distribution, whatever that of the times.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]
fn median_interval(sorted: &[f64]) -> [f64; 2] {
    let away = (0.98 * (sorted.len() as f64).sqrt()) as usize;
    let middle = sorted.len() / 2;
    [sorted[middle.saturating_sub(away)], sorted[(middle + away).min(sorted.len() - 1)]]
}

/// A server in a process of its own, and its client. The process ends when its input does.
struct Running {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    batch: String,
    line: String,
}

impl Running {
    fn start(mode: &str) -> Result<Self> {
        let mut process =
            Command::new(std::env::current_exe()?).arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(mut input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::msg("the server has no streams"));
        };
        let mut output = BufReader::with_capacity(1 << 16, output);
        let mut line = String::new();
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        writeln!(input, "{hello}\n{}", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        output.read_line(&mut line)?;
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}"#;
        Ok(Self { process, input, output, batch: format!("{call}\n").repeat(BATCH), line })
    }

    /// The CPU time of a call, in nanoseconds.
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    fn measure(&mut self) -> Result<f64> {
        let before = cpu_time(self.process.id())?;
        for _ in 0..CALLS / BATCH {
            self.input.write_all(self.batch.as_bytes())?;
            for _ in 0..BATCH {
                self.line.clear();
                self.output.read_line(&mut self.line)?;
                if !self.line.contains(r#""text":"5""#) {
                    return Err(Error::msg(format!("not an answer: {}", self.line)));
                }
            }
        }
        Ok((cpu_time(self.process.id())? - before) / CALLS as f64)
    }
}

/// The CPU time of a process, in nanoseconds: the sum of what its threads ran.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn cpu_time(process: u32) -> Result<f64> {
    let mut time = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        time += stat.split(' ').next().and_then(|ran| ran.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(time as f64)
}
