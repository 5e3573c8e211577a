//! The README's commands print what it shows. Its Rust blocks are doctests of the support library.

/// The README's server over HTTP.
#[cfg(unix)]
#[allow(dead_code, reason = "its `main` has an address of its own")]
mod over_http {
    include!("http.rs");

    pub(super) fn readmes() -> HttpService {
        service()
    }
}

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const README: &str = include_str!("../../../../README.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// The output of `cargo` with these arguments for `input`.
fn cargo(arguments: &[&str], input: &str) -> String {
    let mut server = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    server.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn stdio_command_prints_the_shown_response() {
    let command = blocks("sh")[0];
    let request = command.split('\'').nth(1).expect("the request is quoted");
    let arguments: Vec<&str> = command.rsplit("| cargo ").next().unwrap().split_whitespace().collect();
    let answer = cargo(&arguments, &format!("{request}\n"));
    assert!(blocks("json").contains(&answer.trim_end()), "the README does not show {answer}");
}

#[test]
fn tools_list_matches_the_shown_json() {
    let requests = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n"
    );
    let answer = cargo(&["run", "-q", "-p", "hello"], requests);
    assert!(answer.contains(blocks("json")[0]), "the README does not show {answer}");
}

#[test]
fn first_block_is_the_hello_example() {
    assert_eq!(blocks("rust,no_run")[0].trim(), include_str!("../../../../examples/hello/src/main.rs").trim());
    assert!(include_str!("../../../../examples/hello/src/main.rs").lines().count() <= 12);
}

#[test]
fn http_block_is_the_tested_server() {
    assert_eq!(blocks("rust,no_run")[1].trim(), include_str!("http.rs").trim());
}

/// The output of a command of the README in a shell, with its server at this address.
#[cfg(unix)]
async fn shell(script: &str, address: std::net::SocketAddr) -> String {
    let found = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "the README's commands are tried with `curl`, which is not here: {found:?}");
    let script = script.replace("127.0.0.1:8080", &address.to_string());
    assert!(script.contains(&address.to_string()), "{script}");
    let run = move || Command::new("sh").args(["-euc", &script]).stderr(Stdio::inherit()).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(unix)]
#[tokio::test]
async fn curl_commands_print_the_shown_responses() {
    let site = mcp_tests::http::Site::serving(over_http::readmes()).await;
    let commands: Vec<&str> = blocks("sh").into_iter().filter(|block| block.contains("curl ")).collect();
    assert_eq!(commands.len(), 2, "one for each era");
    for (command, revision) in commands.into_iter().zip(["2026-07-28", "2025-11-25"]) {
        assert!(command.contains(revision));
        let answer = shell(command, site.address).await;
        assert!(blocks("json").contains(&answer.trim_end()), "the README does not show {answer}");
        assert!(answer.contains(r#""text":"5""#));
    }
}

#[test]
fn tables_list_every_example_and_feature() {
    let rows = |from: &str| -> BTreeSet<&'static str> {
        let table = README.split_once(from).expect("the table").1;
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.filter_map(|row| row.split('`').nth(1)).collect()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let examples = std::fs::read_dir(root.join("examples")).unwrap();
    let examples: BTreeSet<String> = examples.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(rows("| example | what it is |"), examples.iter().map(String::as_str).collect());

    let manifest = include_str!("../../../../mcp-runtime/Cargo.toml");
    let features = manifest.split_once("[features]\n").unwrap().1.split("\n[").next().unwrap();
    let features = features.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let features = features.filter_map(|line| line.split_once(" = ").map(|(name, _)| name)).collect();
    assert_eq!(rows("| feature | what it adds |"), features);
}

/// Linked pages are read on GitHub, where a link that only rustdoc resolves is dead.
#[test]
fn links_resolve() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let links = README.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    for link in links.filter(|link| !link.starts_with("http") && !link.starts_with('#')) {
        let path = root.join(link);
        assert!(path.exists(), "{link}");
        if path.extension().is_some_and(|extension| extension == "md") {
            let page = std::fs::read_to_string(path).unwrap();
            assert!(!page.contains("](crate::"), "{link} has a link for rustdoc alone");
        }
    }
}
