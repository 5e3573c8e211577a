//! SIGTERM and SIGINT: a graceful shutdown, as at the end of input.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Starts the server with two calls in flight that take `ms` each.
fn busy(ms: u64) -> Child {
    let mut server = Command::new(env!("CARGO_BIN_EXE_misbehaving"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = server.stdin.as_mut().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    writeln!(input, "{hello}").unwrap();
    for (id, tool) in [(1, "sleep"), (2, "block")] {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"ms":{ms}}}}}"#);
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#).unwrap();
    }
    writeln!(input, r#"{{"jsonrpc":"2.0","id":3,"method":"ping"}}"#).unwrap();
    // When the ping is answered, the calls have begun.
    let output = server.stdout.as_mut().unwrap();
    let mut byte = [0];
    let mut lines = 0;
    while lines < 2 {
        std::io::Read::read_exact(output, &mut byte).unwrap();
        lines += usize::from(byte[0] == b'\n');
    }
    server
}

fn send(server: &Child, signal: Signal) {
    kill_process(Pid::from_child(server), signal).unwrap();
}

fn rest(server: &mut Child) -> Vec<String> {
    BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap).collect()
}

#[test]
fn signal_drains_running_calls() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = busy(150);
        send(&server, signal);
        let rest = rest(&mut server);
        assert_eq!(rest.len(), 2, "{signal:?}: {rest:?}");
        // The input is still open.
        assert_eq!(server.wait().unwrap().code(), Some(0), "{signal:?}");
    }
}

#[test]
fn signal_drain_is_bounded() {
    let mut server = busy(60_000);
    let begun = Instant::now();
    send(&server, Signal::TERM);
    let rest = rest(&mut server);
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest.iter().all(|line| line.contains("ended before the call was done")), "{rest:?}");
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn requests_during_drain_are_rejected() {
    let mut server = busy(300);
    send(&server, Signal::TERM);
    std::thread::sleep(Duration::from_millis(100));
    let input = server.stdin.as_mut().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"quick"}}}}"#).unwrap();
    let rest = rest(&mut server);
    assert!(rest[0].contains("shutting down") && rest[0].contains("\"id\":4"), "{rest:?}");
    assert_eq!(rest.len(), 3, "{rest:?}");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn second_signal_exits_at_once() {
    let mut server = busy(60_000);
    send(&server, Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    send(&server, Signal::INT);
    assert_eq!(server.wait().unwrap().code(), Some(130));
}
