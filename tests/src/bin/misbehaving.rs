//! A server whose handlers misbehave in every way a server must survive, with limits small enough to
//! be reached.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use schemars::JsonSchema;
use serde::Deserialize;

/// Answers at once.
#[tool]
fn quick() -> &'static str {
    "quick"
}

/// Prints where it should not.
#[tool]
fn noisy() -> &'static str {
    #[expect(clippy::print_stdout, reason = "that is the misbehaviour")]
    {
        println!("this is not a message");
    }
    "said nothing"
}

/// Logs so many lines of a hundred bytes each, by number.
#[tool]
fn grumble(lines: usize) -> usize {
    for number in 0..lines {
        eprintln!("{number:>99}");
    }
    lines
}

/// Starts a child that reads its standard input to its end, and writes to its standard output.
#[tool(blocking)]
fn child() -> Result<bool> {
    Ok(Command::new(std::env::current_exe()?).arg(CHILD).status()?.success())
}

/// Leaves a child behind, which runs as long as a file exists. It has no streams.
#[tool]
fn leave_child(until_gone: String) -> Result<u32> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([CHILD, &until_gone]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?.id())
}

/// The first argument of a child.
const CHILD: &str = "--child";

/// The program as its own child.
fn be_child(until_gone: Option<String>) -> std::io::Result<()> {
    if let Some(file) = until_gone {
        let begun = Instant::now();
        // not for ever, if the test is killed
        while Path::new(&file).exists() && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(20));
        }
        return Ok(());
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    std::io::stdout().write_all(b"from the child\n")
}

/// Sleeps for so many milliseconds.
#[tool]
async fn sleep(ms: u64) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("slept {ms}")
}

static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Counts that it was begun, and sleeps.
#[tool]
async fn tally(ms: u64) {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Counts that it was begun.
#[tool(blocking)]
fn tally_blocking() {
    BEGUN.fetch_add(1, Ordering::Relaxed);
}

/// How often `tally` and `tally_blocking` were begun.
#[tool]
fn tallied() -> usize {
    BEGUN.load(Ordering::Relaxed)
}

/// Blocks a thread for so many milliseconds.
#[tool(blocking)]
fn block(ms: u64) -> String {
    std::thread::sleep(Duration::from_millis(ms));
    format!("blocked {ms}")
}

/// Blocks longer than it may.
#[tool(blocking, timeout = "30ms")]
fn block_too_long() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Panics at once.
#[tool]
fn panic() {
    panic!("on purpose");
}

/// Panics after a while.
#[tool]
async fn panic_later() {
    tokio::time::sleep(Duration::from_millis(5)).await;
    panic!("on purpose");
}

/// Panics on the blocking pool.
#[tool(blocking)]
fn panic_blocking() {
    panic!("on purpose");
}

/// Panics when it is dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("on purpose, in drop");
    }
}

/// Panics with something that panics.
#[tool]
fn panic_twice() {
    std::panic::panic_any(Grenade);
}

/// Panics with something that panics, after a while.
#[tool]
async fn panic_twice_later() {
    tokio::time::sleep(Duration::from_millis(5)).await;
    std::panic::panic_any(Grenade);
}

/// Takes too long, and panics when it is given up.
#[tool(timeout = "10ms")]
async fn panic_when_dropped() {
    let _grenade = Grenade;
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// Says a lot.
#[tool]
fn chatter(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Never returns.
#[tool]
async fn forever() {
    std::future::pending::<()>().await;
}

/// Never returns, and is given up.
#[tool(timeout = "30ms")]
async fn forever_too_long() {
    std::future::pending::<()>().await;
}

/// Reports every single step.
#[tool]
async fn report(ctx: &Context, steps: u64) -> u64 {
    for step in 1..=steps {
        ctx.progress(step, steps).await;
    }
    steps
}

/// Logs so many messages of so many bytes.
#[tool]
async fn log(ctx: &Context, messages: u64, bytes: usize) -> u64 {
    for number in 0..messages {
        ctx.log(LogLevel::Warning, json!({"number": number, "text": "x".repeat(bytes)})).await;
    }
    messages
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    branches: Vec<Tree>,
}

impl Tree {
    fn height(&self) -> usize {
        1 + self.branches.iter().map(Tree::height).max().unwrap_or(0)
    }
}

/// Measures a tree.
#[tool]
fn height(tree: Tree) -> usize {
    tree.height()
}

/// Runs once an hour.
#[tool(rate = "1/h")]
fn seldom() -> &'static str {
    "once"
}

/// Says nothing, for ever.
#[tool(heartbeat = "1s")]
async fn silent() {
    std::future::pending::<()>().await;
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().is_some_and(|first| first == CHILD) {
        return Ok(be_child(arguments.next())?);
    }
    let mut limits = Limits::default();
    limits.message_bytes = 1024 * 1024;
    limits.in_flight = 32;
    limits.log_rate = u32::MAX;
    // The end of input has its default, 1.5 seconds.
    limits.drain_timeout = Duration::from_millis(700);
    Server::new("misbehaving", "1.0.0")
        .limits(limits)
        .tools(tools![
            quick,
            noisy,
            grumble,
            child,
            leave_child,
            sleep,
            tally,
            tally_blocking,
            tallied,
            block,
            block_too_long,
            panic,
            panic_later,
            panic_blocking,
            panic_twice,
            panic_twice_later,
            panic_when_dropped,
            chatter,
            forever,
            forever_too_long,
            report,
            log,
            height,
            seldom,
            silent
        ])
        .serve_stdio()
        .await
}
