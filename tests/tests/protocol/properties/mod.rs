//! Properties of whole conversations: any messages, in any order, in chunks of any size.

mod accounts;
mod asking;
mod durable;
mod ops;
mod program;
mod stage;

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision, prelude::*};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tokio::runtime::{Builder, Runtime};

use accounts::accounts;
use ops::{IDS, Op, What, legacy, line, op, tagged};

/// Answers at once.
#[tool]
fn quick(tag: usize) -> String {
    format!("tag {tag}")
}

/// Waits.
#[tool]
async fn nap(tag: usize, ms: u64) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("tag {tag}")
}

/// Waits once, and then works without a pause.
#[tool]
async fn crunch(tag: usize, ms: u64) -> String {
    tokio::task::yield_now().await;
    std::thread::sleep(Duration::from_millis(ms));
    format!("tag {tag}")
}

/// Blocks a thread of its own.
#[tool(blocking)]
fn block(tag: usize, ms: u64) -> String {
    std::thread::sleep(Duration::from_millis(ms));
    format!("tag {tag}")
}

/// Panics.
#[tool]
fn panic() {
    panic!("on purpose");
}

/// Panics after a while.
#[tool]
async fn panic_later() {
    tokio::task::yield_now().await;
    panic!("on purpose");
}

/// Panics on a thread of its own.
#[tool(blocking)]
fn panic_blocking() {
    panic!("on purpose");
}

/// Takes longer than it may.
#[tool(timeout = "3ms")]
async fn overdue() {
    std::future::pending::<()>().await;
}

/// Never ends.
#[tool]
async fn never() {
    std::future::pending::<()>().await;
}

fn server(drain: Duration, message_bytes: usize) -> Server {
    let mut limits = Limits::default();
    limits.in_flight = 6;
    limits.message_bytes = message_bytes;
    limits.drain_timeout = drain;
    limits.eof_timeout = drain;
    Server::new("properties", "1.0.0").limits(limits).tools(tools![
        quick,
        nap,
        crunch,
        block,
        panic,
        panic_later,
        panic_blocking,
        overdue,
        never
    ])
}

/// Does it all, closes the input, and returns every line of the server.
async fn converse(revision: Revision, ops: &[Op], drain: Duration) -> Result<Vec<String>> {
    let client = TestClient::with_revision(server(drain, 10_000), revision).await?;
    for (tag, op) in tagged(ops) {
        match op {
            Op::Pause { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
            op => client.send(&line(op, tag))?,
        }
    }
    Ok(client.close().await?)
}

/// A failure with the conversation in it.
fn shown(problem: &str, ops: &[Op], lines: &[String]) -> TestCaseError {
    let mut text = format!("{problem}\n");
    for (tag, op) in tagged(ops) {
        let _ = match op {
            Op::Pause { ms } => writeln!(text, "# {ms} ms"),
            op => writeln!(text, "> {}", line(op, tag)),
        };
    }
    for line in lines {
        let _ = writeln!(text, "< {line}");
    }
    TestCaseError::fail(text)
}

/// Tries `check` on many values, each time others; a failure says how to see it again.
fn property<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("PROPTEST_RNG_SEED").unwrap_or_else(random);
    let cases = number("PROPTEST_CASES").map_or(cases, |cases| u32::try_from(cases).unwrap_or(u32::MAX));
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 300,
        ..Config::default()
    };
    if let Err(error) = TestRunner::new(config).run(strategy, check) {
        panic!("{error}\nAgain with PROPTEST_RNG_SEED={seed}");
    }
}

/// What the standard library seeds its hash maps with.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

fn check_all(revision: Revision, ops: &[Op], lines: &[String]) -> Result<(), TestCaseError> {
    let accounts = accounts(revision, ops, lines).map_err(|problem| shown(&problem, ops, lines))?;
    for (id, account) in accounts {
        account.check().map_err(|problem| shown(&format!("id {id}: {problem}"), ops, lines))?;
    }
    Ok(())
}

#[test]
fn every_request_gets_one_response() {
    let runtime = runtime();
    property(500, &(legacy(), vec(op(), 0..24)), |(revision, ops)| {
        let lines = runtime.block_on(converse(revision, &ops, Duration::from_secs(5)));
        let lines = lines.map_err(|error| shown(&error.to_string(), &ops, &[]))?;
        check_all(revision, &ops, &lines)
    });
}

#[test]
fn endless_call_does_not_lose_other_responses() {
    let runtime = runtime();
    property(5, &(legacy(), vec(op(), 0..16)), |(revision, ops)| {
        let never = Op::Request { id: IDS.len() - 1, what: What::Untagged("never"), modern: false };
        let all: Vec<Op> = std::iter::once(never).chain(ops.clone()).collect();
        let lines = runtime.block_on(converse(revision, &all, Duration::from_millis(500)));
        let lines = lines.map_err(|error| shown(&error.to_string(), &all, &[]))?;
        let accounts = accounts(revision, &all, &lines).map_err(|problem| shown(&problem, &all, &lines))?;
        for (id, account) in accounts {
            match account.check() {
                Err(_) if id == IDS[IDS.len() - 1].0 && account.others == 0 => {}
                checked => checked.map_err(|problem| shown(&format!("id {id}: {problem}"), &all, &lines))?,
            }
        }
        Ok(())
    });
}

/// A line that is answered at once or not at all, so that the order of the answers is known.
fn prompt_line() -> impl Strategy<Value = Vec<u8>> {
    let request = (0..IDS.len(), prop_oneof![Just(What::Hello), Just(What::Tagged("quick", 0))], any::<bool>())
        .prop_map(|(id, what, modern)| line(&Op::Request { id, what, modern }, id).into_bytes());
    let long = (0..500_usize, 0..500_usize).prop_map(|(before, after)| {
        format!(r#"{{"a":"{}","id":"é","b":"{}"}}"#, "x".repeat(before), "ü".repeat(after)).into_bytes()
    });
    prop_oneof![
        4 => request,
        1 => vec(any::<u8>(), 0..30),
        1 => (0..420_usize).prop_map(|count| vec![b' '; count]),
        2 => long,
        1 => Just("\u{feff}{}\r".into()),
    ]
}

#[test]
fn framing_does_not_depend_on_chunk_boundaries() {
    let runtime = runtime();
    let strategy = (vec(prompt_line(), 0..12), any::<bool>(), vec(1..90_usize, 1..40));
    property(250, &strategy, |(lines, ends_with_newline, pieces)| {
        let mut bytes = lines.join(&b'\n');
        bytes.extend(ends_with_newline.then_some(b'\n'));
        let send = async |pieces: &[usize]| {
            let client = TestClient::connect_raw(server(Duration::from_secs(5), 400));
            let (mut rest, mut sizes) = (&bytes[..], pieces.iter().cycle());
            while let Some((piece, after)) = rest.split_at_checked(*sizes.next().unwrap_or(&rest.len())) {
                client.send_bytes(piece)?;
                rest = after;
            }
            client.send_bytes(rest)?;
            client.close().await
        };
        let whole =
            runtime.block_on(send(&[bytes.len() + 1])).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let cut = runtime.block_on(send(&pieces)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let shown = String::from_utf8_lossy(&bytes);
        (whole == cut)
            .then_some(())
            .ok_or_else(|| TestCaseError::fail(format!("{shown}\nwhole: {whole:#?}\nin pieces: {cut:#?}")))
    });
}
