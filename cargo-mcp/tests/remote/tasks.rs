//! Calls that become tasks: how often they are polled, what is shown of them, and that they are cancelled.

use std::process::{Child, Command};

use serde_json::Value;

use crate::script::{INTERVAL, Log, fresh_file, on_stdio, over_http, wait_until};
use crate::{Done, cargo_mcp, run};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[test]
fn server_says_how_often_it_is_polled() {
    for revision in REVISIONS {
        let (url, log) = over_http();
        let line = format!("call steps --revision {revision} --progress --url {url}");
        let Done { out, err, code } = run(&mut cargo_mcp(&line));
        assert_eq!((out.as_str(), code), ("done\n", 0), "{revision}: {err}");
        assert!(err.contains("step 1\n"), "{revision}: {err}");
        let polls = log.of("tasks/get");
        assert!(!polls.is_empty());
        let created = log.of("tools/call")[0].0;
        let times: Vec<_> = [created].into_iter().chain(polls.iter().map(|(at, _)| *at)).collect();
        for pair in times.windows(2) {
            assert!(pair[1] - pair[0] >= INTERVAL * 9 / 10, "{revision}: {times:?}");
        }
    }
}

/// Ctrl-C.
fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
}

fn ended(child: Child) -> (i32, String) {
    let output = child.wait_with_output().expect("it ends");
    (output.status.code().expect("an exit code"), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn is_cancelled(log: &Log, what: &str) {
    let cancelled = log.of("tasks/cancel");
    assert_eq!(cancelled.len(), 1, "{what}");
    assert_eq!(cancelled[0].1["params"]["taskId"], "endless", "{what}");
}

#[test]
fn ctrl_c_and_timeouts_cancel_tasks_over_http() {
    for revision in REVISIONS {
        let (url, log) = over_http();
        let line = format!("call endless --revision {revision} --url {url}");
        let child = cargo_mcp(&line).spawn().expect("cargo-mcp runs");
        log.wait_for("tasks/get");
        interrupt(&child);
        let (code, err) = ended(child);
        assert_eq!(code, 130, "{revision}: {err}");
        is_cancelled(&log, revision);

        let (url, log) = over_http();
        let line = format!("call endless --revision {revision} --timeout 3 --url {url}");
        let Done { err, code, .. } = run(&mut cargo_mcp(&line));
        assert!(code == 3 && err.contains("no answer within 3 s"), "{revision}: {code} {err}");
        is_cancelled(&log, revision);
    }
}

/// What the script on stdio was sent.
fn sent(path: &std::path::Path, method: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter(|message| message["method"] == method).collect()
}

fn started(line: &str, log: &std::path::Path) -> Child {
    let mut command: Command = cargo_mcp(line);
    on_stdio(&mut command, log);
    command.spawn().expect("cargo-mcp runs")
}

#[test]
fn ctrl_c_and_timeouts_cancel_tasks_on_stdio() {
    for revision in REVISIONS {
        for options in ["", " --timeout 3"] {
            let log = fresh_file(&format!("stdio-{revision}{}", options.len()));
            let child = started(&format!("call endless --revision {revision}{options}"), &log);
            if options.is_empty() {
                wait_until("tasks/get", || !sent(&log, "tasks/get").is_empty());
                interrupt(&child);
            }
            let (code, err) = ended(child);
            assert_eq!(code, if options.is_empty() { 130 } else { 3 }, "{revision}{options}: {err}");
            let cancelled = sent(&log, "tasks/cancel");
            assert_eq!(cancelled.len(), 1, "{revision}{options}");
            assert_eq!(cancelled[0]["params"]["taskId"], "endless");
        }
    }
}

#[test]
fn ctrl_c_cancels_a_call_that_is_no_task() {
    for revision in REVISIONS {
        let log = fresh_file(&format!("hang-{revision}"));
        let child = started(&format!("call hang --revision {revision}"), &log);
        wait_until("tools/call", || !sent(&log, "tools/call").is_empty());
        interrupt(&child);
        assert_eq!(ended(child).0, 130);
        let call = &sent(&log, "tools/call")[0];
        let cancelled = sent(&log, "notifications/cancelled");
        assert!(cancelled.len() == 1 && cancelled[0]["params"]["requestId"] == call["id"], "{cancelled:?}");
    }
    // Over HTTP, a session is told before the process ends; without one, the connection is closed.
    let (url, log) = over_http();
    let child = cargo_mcp(&format!("call hang --revision 2025-11-25 --url {url}")).spawn().expect("cargo-mcp runs");
    log.wait_for("tools/call");
    interrupt(&child);
    assert_eq!(ended(child).0, 130);
    assert_eq!(log.of("notifications/cancelled").len(), 1);
}
