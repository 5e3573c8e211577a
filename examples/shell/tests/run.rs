//! Commands, as a client runs, follows and cancels them. They are scripts of `sh`.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use serde_json::Value;
use shell::Allowed;
use tokio::sync::oneshot;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(60);

/// A server that runs one script, in a directory of its own.
fn server(directory: &Path, script: &str) -> Server {
    let script = Allowed::new("script", "Run the script.", ["sh", "-c", script]);
    let echo = Allowed::new("echo", "Print the arguments.", ["echo"]).with_arguments();
    let missing = Allowed::new("missing", "Run nothing.", ["no-such-program"]);
    shell::server(vec![script, echo, missing], directory)
}

/// An empty directory, with a named pipe.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    assert!(Command::new("mkfifo").arg(directory.join("pipe")).status().unwrap().success());
    directory
}

async fn run(script: &str, test: &str) -> Result<Value> {
    let client = TestClient::connect(server(&directory(test), script)).await?;
    Ok(client.call("run", json!({"command": "script", "timeout": 600})).await?.structured()?)
}

#[tokio::test]
async fn outcome_has_exit_code_and_output() -> Result<()> {
    for revision in REVISIONS {
        let client =
            TestClient::with_revision(server(&directory("outcome"), "echo out; echo err >&2; exit 3"), revision)
                .await?;
        let answer = client.call("run", json!({"command": "script"})).await?;
        let outcome = json!({
            "exit_code": 3, "timed_out": false, "stdout": "out\n", "stderr": "err\n", "truncated": false,
        });
        assert_eq!(answer.structured::<Value>()?, outcome, "{revision}");
        assert!(!answer.is_error(), "the exit code says it");
    }
    let outcome = run("kill -9 $$", "killed").await?;
    assert_eq!((&outcome["exit_code"], &outcome["timed_out"]), (&Value::Null, &json!(false)));
    assert_eq!(run("cat", "stdin").await?["exit_code"], 0, "its input is empty");
    Ok(())
}

#[tokio::test]
async fn lines_arrive_while_the_command_runs() -> Result<()> {
    for (revision, test) in REVISIONS.into_iter().zip(["lines-2025", "lines-2026"]) {
        let directory = directory(test);
        // Waits for the test between its lines.
        let client =
            TestClient::with_revision(server(&directory, "echo one; read go <pipe; echo two >&2"), revision).await?;
        let call = client.start("run", json!({"command": "script"}))?;
        let first = tokio::time::timeout(LONG, call.progress()).await??;
        assert_eq!((first.done, first.total, first.message.as_deref()), (1.0, None, Some("one")), "{revision}");
        // A report right after another one would be left out.
        tokio::time::sleep(Duration::from_millis(20)).await;
        tokio::task::spawn_blocking(move || fs::write(directory.join("pipe"), "go\n")).await??;
        let second = tokio::time::timeout(LONG, call.progress()).await??;
        assert_eq!((second.done, second.message.as_deref()), (2.0, Some("two")), "{revision}");
        assert_eq!(call.result().await?.structured::<Value>()?["exit_code"], 0);
    }
    Ok(())
}

/// Holds the pipe open with two processes, of which the second is started by the first.
const HOLDER: &str = "exec 3>pipe; sleep 1000 & echo ready; wait";

/// Waits until no process holds the pipe open: until all of them are dead.
async fn all_dead(directory: &Path) -> Result<()> {
    let pipe = directory.join("pipe");
    let (sender, dead) = oneshot::channel();
    // Not a thread of Tokio's, which a test that fails would wait for.
    thread::spawn(move || sender.send(fs::read(pipe)));
    tokio::time::timeout(LONG, dead).await???;
    Ok(())
}

#[tokio::test]
async fn cancelled_call_kills_the_command() -> Result<()> {
    for (revision, test) in REVISIONS.into_iter().zip(["cancelled-2025", "cancelled-2026"]) {
        let directory = directory(test);
        let client = TestClient::with_revision(server(&directory, HOLDER), revision).await?;
        let call = client.start("run", json!({"command": "script"}))?;
        let dead = all_dead(&directory);
        let cancel = async {
            tokio::time::timeout(LONG, call.progress()).await??;
            Ok::<_, Error>(call.cancel()?)
        };
        tokio::try_join!(dead, cancel)?;
    }
    Ok(())
}

#[tokio::test]
async fn cancelled_task_kills_the_command() -> Result<()> {
    for (revision, test) in REVISIONS.into_iter().zip(["task-2025", "task-2026"]) {
        let directory = directory(test);
        let client = TestClient::builder(server(&directory, HOLDER)).revision(revision).tasks().connect().await?;
        let task = client.start_task("run", json!({"command": "script"})).await?;
        let dead = all_dead(&directory);
        let cancel = async {
            // Its status is the last line.
            while task.status().await?.message.as_deref() != Some("ready") {
                tokio::task::yield_now().await;
            }
            Ok::<_, Error>(task.cancel().await?)
        };
        tokio::try_join!(dead, cancel)?;
    }
    Ok(())
}

#[tokio::test]
async fn timeout_kills_the_command_and_keeps_its_output() -> Result<()> {
    let directory = directory("timeout");
    let client = TestClient::connect(server(&directory, HOLDER)).await?;
    let call = async { Ok(client.call("run", json!({"command": "script", "timeout": 5})).await?) };
    let ((), answer) = tokio::try_join!(all_dead(&directory), call)?;
    let outcome = json!({"timed_out": true, "stdout": "ready\n", "stderr": "", "truncated": false});
    assert_eq!(answer.structured::<Value>()?, outcome);
    Ok(())
}

#[tokio::test]
async fn output_is_bounded() -> Result<()> {
    for (script, end) in [("yes | head -c 999998; echo end", "end\n"), ("head -c 999999 /dev/zero | tr '\\0' x", "xxx")]
    {
        let outcome = run(script, "bounded").await?;
        let stdout = outcome["stdout"].as_str().unwrap();
        assert_eq!(
            (stdout.len(), stdout.ends_with(end), &outcome["truncated"]),
            (65536, true, &json!(true)),
            "{script}"
        );
    }
    let outcome = run("printf '\\377'", "unicode").await?;
    assert_eq!(outcome["stdout"], "\u{fffd}");
    Ok(())
}

#[tokio::test]
async fn only_allowed_commands_run() -> Result<()> {
    let directory = directory("allowed");
    let client = TestClient::connect(server(&directory, "true")).await?;
    let run = async |command: &str, arguments: &[&str]| {
        client.call("run", json!({"command": command, "arguments": arguments})).await
    };
    for (command, arguments, told) in [
        ("rm", &[][..], "`rm` is not allowed: choose one of script, echo, missing"),
        ("/bin/echo", &[], "`/bin/echo` is not allowed: choose one of script, echo, missing"),
        ("echo hi", &[], "`echo hi` is not allowed: choose one of script, echo, missing"),
        ("script", &["more"], "script takes no arguments: leave `arguments` out"),
        ("echo", &["a", "--help"], "the option `--help` is not allowed: arguments must not begin with `-`"),
    ] {
        let answer = run(command, arguments).await?;
        assert_eq!((answer.is_error(), &*answer.text()), (true, told));
    }
    let missing = run("missing", &[]).await?;
    assert!(missing.is_error() && missing.text().starts_with("cannot run `missing`: "), "{}", missing.text());

    let odd = "$(touch made); touch made > made && `touch made`";
    let echoed = run("echo", &[odd, "two  words"]).await?.structured::<Value>()?;
    assert_eq!(echoed["stdout"], format!("{odd} two  words\n"), "no shell reads it");
    assert!(!directory.join("made").exists());
    Ok(())
}

#[tokio::test]
async fn commands_are_listed() -> Result<()> {
    let client = TestClient::connect(shell::server(shell::allowed(), ".")).await?;
    let listed: Value = client.call("commands", json!({})).await?.structured()?;
    let status =
        json!({"name": "git_status", "description": "Show which files have changed.", "takes_arguments": false});
    assert_eq!(listed["commands"][0], status);
    Ok(())
}
