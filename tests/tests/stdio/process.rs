//! A server process over stdio, from the client's end of the pipes: framing, output, backpressure, exit codes.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_tests::process::Process;
use serde_json::{Value, json};

/// A server whose handlers misbehave.
const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");

fn start() -> Process {
    Process::start(MISBEHAVING)
}

#[test]
fn stdout_carries_only_messages() {
    let mut server = start();
    server.call(1, "noisy", &json!({}));
    assert_eq!(server.text(1), "said nothing");
    server.call(2, "child", &json!({}));
    assert_eq!(server.text(2), "true");
    server.call(3, "quick", &json!({}));
    assert_eq!(server.text(3), "quick");
    let (rest, log) = server.finish();
    assert_eq!(rest, [""; 0]);
    assert!(log.contains("this is not a message"), "{log}");
    assert!(log.contains("from the child"), "{log}");
}

#[test]
fn child_holds_neither_stream() {
    let alive = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("child-{}", std::process::id()));
    std::fs::write(&alive, "").unwrap();
    let mut server = start();
    server.call(1, "leave_child", &json!({"until_gone": alive}));
    server.text(1);
    let begun = Instant::now();
    // The output ends with the server, although its child is still there.
    let (rest, log) = server.finish();
    let waited = begun.elapsed();
    std::fs::remove_file(&alive).unwrap();
    assert_eq!((rest.len(), log.as_str()), (0, ""));
    assert!(waited < Duration::from_secs(60), "{waited:?}");
}

#[test]
fn lines_may_end_with_a_carriage_return() {
    let mut server = Process::silent(MISBEHAVING);
    server.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r\n");
    for id in [1, 2] {
        assert_eq!(server.line(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    server.finish();
}

#[test]
fn slow_call_does_not_delay_others() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 1000}));
    server.call(2, "block", &json!({"ms": 500}));
    server.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    server.call(4, "quick", &json!({}));
    assert_eq!(server.answer(3)["result"], json!({}));
    assert_eq!(server.text(4), "quick");
    assert_eq!(server.text(2), "blocked 500");
    assert_eq!(server.text(1), "slept 1000");
    server.finish();
}

#[test]
fn call_over_the_rate_is_told_when_to_come_back() {
    for revision in ["2024-11-05", "2025-11-25"] {
        let mut server = Process::in_revision(MISBEHAVING, revision);
        server.call(1, "seldom", &json!({}));
        assert_eq!(server.text(1), "once");
        server.call(2, "seldom", &json!({}));
        let error = server.answer(2)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["limit"]), (&json!(-32000), &json!(1)), "{error}");
        let wait = error["data"]["retryAfterMs"].as_u64().unwrap();
        assert!((3_000_000..=3_600_000).contains(&wait), "{error}");
        server.finish();
    }
}

#[test]
fn silent_call_has_heartbeats() {
    let mut server = start();
    let params = json!({"name": "silent", "arguments": {}, "_meta": {"progressToken": "t"}});
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let mut last = 0.0;
    for _ in 0..2 {
        let beat = server.next();
        assert_eq!(
            (&beat["method"], &beat["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("t"))
        );
        let done = beat["params"]["progress"].as_f64().unwrap();
        assert!(done > last, "{beat}");
        last = done;
    }
    server.notify("notifications/cancelled", &json!({"requestId": 1}));
    server.call(2, "quick", &json!({}));
    assert_eq!(server.text(2), "quick");
    server.finish();
}

#[test]
fn panics_and_timeouts_become_error_results() {
    let mut server = start();
    let tools = ["panic", "panic_later", "panic_blocking", "block_too_long"];
    let tools = tools.into_iter().chain(["panic_twice", "panic_twice_later", "panic_when_dropped"]);
    for (id, tool) in (10..).zip(tools) {
        server.call(id, tool, &json!({}));
        let answer = server.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(!answer.to_string().contains("on purpose"), "details stay in the log: {answer}");
    }
    server.call(5, "quick", &json!({}));
    assert_eq!(server.text(5), "quick");
    let (_, log) = server.finish();
    assert!(log.contains("on purpose"), "{log}");
}

#[test]
fn eof_drains_running_calls() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 150}));
    server.call(2, "block", &json!({"ms": 150}));
    let (rest, _) = server.finish();
    assert_eq!(rest.len(), 2, "{rest:?}");
}

#[test]
fn eof_drain_is_bounded() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 60_000}));
    server.call(2, "block", &json!({"ms": 60_000}));
    let begun = Instant::now();
    let (rest, _) = server.finish();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest.iter().all(|line| line.contains("ended before the call was done")), "{rest:?}");
    // `Limits::eof_timeout`, not the `drain_timeout` of this server, which is shorter.
    assert!(begun.elapsed() > Duration::from_millis(1400), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn last_line_needs_no_newline() {
    let mut server = start();
    server.write(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (rest, _) = server.finish();
    assert_eq!(rest, [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}

#[test]
fn closed_stdout_ends_the_process() {
    let mut server = start();
    server.close_output();
    server.call(1, "chatter", &json!({"bytes": 100_000}));
    // The input is still open.
    assert!(server.ended().success());
}

#[test]
fn calls_over_in_flight_limit_are_rejected_before_they_run() {
    let mut server = start();
    for id in 1..=36 {
        server.call(id, "tally", &json!({"ms": 300}));
    }
    for id in 37..=40 {
        server.call(id, "tally_blocking", &json!({}));
    }
    let answers: Vec<Value> = (1..=40).map(|_| server.next()).collect();
    let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32000).count();
    let done = answers.iter().filter(|answer| answer["result"].is_object()).count();
    assert_eq!((refused, done), (8, 32));
    server.call(41, "tallied", &json!({}));
    assert_eq!(server.text(41), "32");
    server.finish();
}

#[test]
fn oversized_lines_are_rejected_and_skipped() {
    let mut server = start();
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}\n", "x".repeat(2 * 1024 * 1024));
    server.write(long.as_bytes());
    let answer = server.answer(1);
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\",\"id\":1}}\n", "x".repeat(2 * 1024 * 1024));
    server.write(long.as_bytes());
    let answer = server.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    server.call(2, "quick", &json!({}));
    assert_eq!(server.text(2), "quick");
    server.finish();
}

#[test]
fn pipelined_calls_are_answered_in_order() {
    let mut server = start();
    let writer = server.write_beside(|input| {
        (1..=10_000).try_for_each(|id| {
            writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"quick"}}}}"#)
        })
    });
    for id in 1..=10_000 {
        assert_eq!(server.text(id), "quick");
    }
    server.rejoin(writer);
    server.finish();
}

#[cfg(unix)]
#[test]
fn terminal_gets_a_hint_on_stderr() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let path = ptsname(&person, Vec::new()).unwrap();
    let path = OsStr::from_bytes(path.to_bytes());
    let terminal = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let server = Command::new(MISBEHAVING)
        .args(["--db", "my notes.db"])
        .stdin(terminal)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ctrl_d = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\x04";
    std::fs::File::from(person.try_clone().unwrap()).write_all(ctrl_d).unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let hint = String::from_utf8_lossy(&output.stderr);
    assert!(hint.contains("misbehaving 1.0.0 is an MCP server"), "{hint}");
    let configuration = hint.lines().find(|line| line.contains("mcpServers")).expect(&hint);
    let configuration: Value = serde_json::from_str(configuration).expect(&hint);
    let expected = json!({"command": MISBEHAVING, "args": ["--db", "my notes.db"]});
    assert_eq!(configuration["mcpServers"]["misbehaving"], expected, "{hint}");
}

#[test]
fn pipe_gets_no_hint() {
    let (_, log) = start().finish();
    assert_eq!(log, "");
}

#[test]
fn shutdown_drains_and_exit_ends_the_process() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 100}));
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    assert_eq!(server.text(1), "slept 100");
    assert_eq!(server.answer(2)["result"], json!({}));
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    // The input is still open.
    assert!(server.ended().success());
}

#[test]
fn exit_without_shutdown_fails_at_once() {
    let mut server = start();
    server.call(1, "sleep", &json!({"ms": 60_000}));
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let begun = Instant::now();
    assert_eq!(server.ended().code(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[cfg(unix)]
#[test]
fn non_blocking_pipes_are_polled() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use rustix::fs::{OFlags, fcntl_setfl};

    let (input, mut requests) = std::io::pipe().unwrap();
    let (mut answers, output) = std::io::pipe().unwrap();
    fcntl_setfl(&input, OFlags::NONBLOCK).unwrap();
    fcntl_setfl(&output, OFlags::WRONLY | OFlags::NONBLOCK).unwrap();
    let mut server = Command::new(MISBEHAVING).stdin(input).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let meta =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"chatter","arguments":{{"bytes":1000000}},"_meta":{meta}}}}}"#
    );
    writeln!(requests, "{call}").unwrap();
    drop(requests);
    std::thread::sleep(Duration::from_millis(50));
    let mut answer = String::new();
    answers.read_to_string(&mut answer).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(answer.len() > 1_000_000 && answer.ends_with("}\n"), "{} bytes", answer.len());
}

#[cfg(target_os = "linux")] // peak memory is read from /proc
#[test]
fn slow_reader_gets_every_response_in_bounded_memory() {
    let mut server = start();
    let writer = server.write_beside(|input| {
        (1..=20_000).try_for_each(|id| {
            let tool = if id % 10 == 0 {
                r#"{"name":"sleep","arguments":{"ms":0}}"#
            } else {
                r#"{"name":"chatter","arguments":{"bytes":2000}}"#
            };
            writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{tool}}}"#)
        })
    });
    std::thread::sleep(Duration::from_millis(500));
    let peak = server.peak();
    assert!(peak < 24 * 1024, "40 MB of unread responses, and {peak} kB in memory");

    let mut ids: Vec<u64> = (1..=20_000).map(|_| server.next()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=20_000), "every call has one answer");
    server.rejoin(writer);
    server.finish();
}
