//! What operators need, and what it costs: `operated MODE` is a server with one of it, for the driver, which counts
//! instructions.
//!
//! Without arguments, it compares the CPU time per call of `add` over stdio: it starts itself as a server in each mode, sends calls
//! in batches, and reads the server's CPU time from `/proc`.
#![forbid(unsafe_code)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
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

const MODES: [(&str, &str); 7] = [
    ("nothing", "nothing"),
    ("elsewhere", "a layer and a rate limit on another tool"),
    ("layer", "a layer that does nothing"),
    ("rate", "a rate limit per user"),
    ("observer", "an observer that counts"),
    ("access", "`AccessLog`, no subscriber"),
    ("spans", "`Spans`, no subscriber"),
];
const CALLS: usize = 400_000;
/// So many are in flight, so that the server reads several at once.
const BATCH: usize = 100;
const ROUNDS: usize = 5;

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

#[allow(clippy::print_stdout, reason = "this is its output")]
fn compare() -> Result<()> {
    let mut best = [f64::INFINITY; MODES.len()];
    for _ in 0..ROUNDS {
        for (best, (mode, _)) in best.iter_mut().zip(MODES) {
            *best = best.min(measure(mode)?);
        }
    }
    println!("| | ns of CPU time per call | more than without |\n|---|--:|--:|");
    for (time, (_, what)) in best.iter().zip(MODES) {
        println!("| {what} | {time:.0} | {:.0} |", time - best[0]);
    }
    Ok(())
}

/// The CPU time of a call, in nanoseconds.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn measure(mode: &str) -> Result<f64> {
    let mut server =
        Command::new(std::env::current_exe()?).arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(Error::msg("the server has no streams"));
    };
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut line = String::new();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
    writeln!(input, "{hello}\n{}", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    output.read_line(&mut line)?;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}"#;
    let batch = format!("{call}\n").repeat(BATCH);
    let mut round = |count: usize| -> Result<()> {
        for _ in 0..count / BATCH {
            input.write_all(batch.as_bytes())?;
            for _ in 0..BATCH {
                line.clear();
                output.read_line(&mut line)?;
                if !line.contains(r#""text":"5""#) {
                    return Err(Error::msg(format!("not an answer: {line}")));
                }
            }
        }
        Ok(())
    };
    round(CALLS / 10)?;
    let before = cpu_time(server.id())?;
    round(CALLS)?;
    let spent = cpu_time(server.id())? - before;
    drop(input);
    server.wait()?;
    Ok(spent / CALLS as f64)
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
