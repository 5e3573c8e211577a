//! `Server::run` as a process: what each command prints, and its exit code.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What a command did.
pub(crate) struct Done {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

pub(crate) fn server() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_commands"));
    // As a person's shell has it: these tests run under cargo.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "RESOURCE"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn finish(command: &mut Command, input: &str) -> Done {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command may not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code().unwrap() }
}

/// Runs a command line, with words separated by spaces.
pub(crate) fn run(line: &str) -> Done {
    answering(line, "")
}

fn answering(line: &str, input: &str) -> Done {
    finish(server().args(line.split(' ')), input)
}

#[track_caller]
fn prints(line: &str, expected: &str) {
    let Done { out, err, code } = run(line);
    assert_eq!((out.as_str(), code), (expected, 0), "{line}: {err}");
}

#[track_caller]
fn fails(line: &str, expected_code: i32, hint: &str) {
    let Done { out, err, code } = run(line);
    assert_eq!(code, expected_code, "{line}: {out}{err}");
    assert!(err.contains(hint), "{line}: {err}");
}

#[test]
fn call_reads_values_by_the_schema_and_prints_the_result() {
    prints("call add a=2 b=3", "5\n");
    prints("call add a=2", "3\n");
    prints(r#"call add --json {"a":2,"b":4}"#, "6\n");
    prints(r#"call add b=4 --json {"a":2}"#, "6\n");
    prints("call repeat text=5", "5\n");
    let Done { out, .. } = run("call give tags=x tags=y place.city=Rome place.lat=41.9 loud=yes");
    let given: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(given, json!({"tags": ["x", "y"], "place": {"city": "Rome", "lat": 41.9}, "loud": true}));
}

#[test]
fn call_works_in_every_revision() {
    for revision in mcp_runtime::Revision::ALL {
        prints(&format!("call add a=2 b=3 --revision {revision}"), "5\n");
    }
}

#[test]
fn values_come_from_files_and_standard_input() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-text.txt");
    std::fs::write(&path, "from a file\n").unwrap();
    prints(&format!("call repeat text=@{}", path.display()), "from a file\n");
    assert_eq!(answering("call repeat text=@-", "from a pipe").out, "from a pipe\n");
    prints("call repeat text=@@ann", "@ann\n");
}

#[test]
fn misspelt_arguments_are_told() {
    let Done { err, .. } = run("call add a=1 bb=2");
    assert!(err.contains("the schema has no argument `bb`; did you mean `b`?"), "{err}");
}

#[test]
fn results_can_be_had_as_the_server_sent_them() {
    let Done { out, .. } = run("call add a=2 b=3 --raw");
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["content"], json!([{"type": "text", "text": "5"}]));
}

#[test]
fn progress_and_logs_go_to_standard_error() {
    let Done { out, err, code } = run("call work --progress");
    assert_eq!((out.as_str(), code), ("done\n", 0));
    assert!(err.contains("[1/2]\n") && err.contains("[2/2]\n"), "{err}");
    assert!(err.contains("warning: the paper is low\n"), "{err}");
    // Not where no person watches, unless they are asked for.
    assert_eq!(run("call work --quiet").err, "");
    assert_eq!(run("call work").err, "warning: the paper is low\n");
}

#[test]
fn questions_can_be_answered_beforehand() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        for tool in ["order", "order_later"] {
            let answers = "--answer name=Bo --answer count=1 --answer size=small --answer note=hot";
            prints(&format!("call {tool} --revision {revision} {answers}"), "1 small for Bo, Some(\"hot\")\n");
        }
    }
    fails("call order --answer decline", 1, "declined");
    fails("call order --answer name=Bo", 1, "no answer to `count`: add `--answer count=…`");
}

/// Standard input that is no terminal is not read: it may be the rest of a script.
#[test]
fn questions_to_nobody_are_cancelled_with_the_options_that_answer_them() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let Done { out, err, code } = answering(&format!("call order --revision {revision}"), "Ann\n1\nsmall\n\n");
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        let hint = "pass `--answer name=… --answer count=… --answer size=…`, or `--answer decline`";
        assert!(err.contains("What would you like?") && err.contains(hint), "{err}");
    }
}

#[test]
fn lists_are_signatures_or_json() {
    let Done { out, .. } = run("tools");
    assert!(out.starts_with("  add(a: integer, b?: integer = 1)\n      Add two integers.\n"), "{out}");
    assert!(out.contains("      tags?: string[] = [],\n") && !out.contains("As structured content."), "{out}");
    let tools: Value = serde_json::from_str(&run("tools --json").out).unwrap();
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["a"]));
    let Done { out, .. } = run("tools --tokens");
    assert!(out.contains(" tokens  add(") && out.contains(" in all"), "{out}");
    let Done { out, .. } = run("tools add");
    assert!(out.contains("b integer, optional, default 1") && out.contains("The second."), "{out}");
    let Done { out, .. } = run("resources");
    assert!(out.contains("text://note (text/plain)") && out.contains("blob://{size}"), "{out}");
    assert!(run("prompts").out.contains("summary(style, loud?)"));
    assert!(!run("prompts summary").out.contains("broken"));
    assert!(!run("resources text://note").out.contains("blob"));
    let inspected: Value = serde_json::from_str(&run("inspect --json").out).unwrap();
    assert_eq!(inspected["prompts"][0]["name"], "summary");
}

#[test]
fn resources_prompts_and_completions_are_printed() {
    prints("read text://note", "milk\u{1b}[31m\n");
    prints("get summary style=short", "user:\nSummarise, short, false.\n");
    prints("complete summary loud=t", "true\n");
}

#[test]
fn schema_is_the_contract_and_lint_has_its_findings() {
    let contract: Value = serde_json::from_str(&run("schema").out).unwrap();
    assert_eq!(contract["server"]["name"], "commands");
    assert_eq!(contract["tools"].as_array().unwrap().len(), 11);
    let Done { out, code, .. } = run("lint");
    assert!(code == 1 && out.contains("[missing-description]"), "{out}");
    assert!(out.trim_end().ends_with("/mcp_runtime/errors/index.html#lint"), "{out}");
    let findings: Value = serde_json::from_str(&run("lint --json").out).unwrap();
    assert_eq!(findings[0]["rule"], "missing-description");
}

#[test]
fn help_and_version_are_printed() {
    prints("--version", "commands 1.2.3\n");
    let Done { out, code, .. } = run("--help");
    assert!(code == 0 && out.contains("call TOOL key=value") && out.contains("Exit codes"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert_eq!(run("call --help").out, out);
}

#[test]
fn without_arguments_a_pipe_is_served() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let done = finish(&mut server(), &format!("{ping}\n"));
    assert_eq!(done.out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_eq!((done.err.as_str(), done.code), ("", 0));
}

#[test]
fn address_in_use_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    fails(&format!("--http {}", taken.local_addr().unwrap()), 1, "choose another port");
    fails("--http nowhere", 1, "give the address as host and port");
}

#[test]
fn readers_that_have_seen_enough_are_no_error() {
    let mut child =
        server().arg("tools").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn commands_stand_beside_those_of_clap() {
    let program = |line: &str| finish(Command::new(env!("CARGO_BIN_EXE_beside_clap")).args(line.split(' ')), "");
    assert_eq!(program("--db my.db call database").out, "my.db\n");
    assert_eq!(program("--db my.db vacuum").err, "vacuumed my.db\n");
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let served = finish(Command::new(env!("CARGO_BIN_EXE_beside_clap")).args(["--db", "my.db"]), ping);
    assert_eq!(served.out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let page = include_str!("../../../mcp-runtime/docs/cli.md");
    let shown = page.split("```ignore\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(include_str!("../../src/bin/beside_clap.rs").contains(shown), "docs/cli.md shows another program");
}
