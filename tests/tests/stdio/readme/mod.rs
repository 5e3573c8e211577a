//! The commands of the README and of `docs/` print what these pages show. Their Rust blocks are doctests of the
//! support library.

/// The server of `docs/http.md`.
#[cfg(unix)]
#[allow(dead_code, reason = "its `main` has an address of its own")]
mod over_http {
    include!("http.rs");

    pub(super) fn shown() -> HttpService {
        service()
    }
}

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A page of the documentation.
struct Page {
    /// Its path below the root of the repository.
    path: &'static str,
    text: &'static str,
}

const README: Page = Page { path: "README.md", text: include_str!("../../../../README.md") };
const HTTP: Page = Page { path: "docs/http.md", text: include_str!("../../../../docs/http.md") };
const AUTHORIZATION: Page =
    Page { path: "docs/authorization.md", text: include_str!("../../../../docs/authorization.md") };
const REPLICAS: Page = Page { path: "docs/replicas.md", text: include_str!("../../../../docs/replicas.md") };
const CARGO_MCP: Page = Page { path: "docs/cargo-mcp.md", text: include_str!("../../../../docs/cargo-mcp.md") };

const DEV: Page = Page { path: "docs/dev.md", text: include_str!("../../../../docs/dev.md") };
const OBSERVABILITY: Page =
    Page { path: "docs/observability.md", text: include_str!("../../../../docs/observability.md") };
const INSTALL: Page = Page { path: "docs/install.md", text: include_str!("../../../../docs/install.md") };

const MIDDLEWARE: Page = Page { path: "docs/middleware.md", text: include_str!("../../../../docs/middleware.md") };

const PAGES: [Page; 9] = [README, HTTP, AUTHORIZATION, REPLICAS, OBSERVABILITY, MIDDLEWARE, CARGO_MCP, DEV, INSTALL];

impl Page {
    /// The fenced blocks of a language.
    fn blocks(&self, language: &str) -> Vec<&'static str> {
        let fence = format!("```{language}\n");
        self.text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
    }

    #[track_caller]
    fn shows(&self, answer: &str) {
        assert!(self.blocks("json").contains(&answer.trim_end()), "{} does not show {answer}", self.path);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
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
fn first_commands_print_what_is_shown() {
    let transcript = README.blocks("console")[0];
    let commands: Vec<&str> = transcript.split("$ cargo ").skip(1).collect();
    assert!(commands.len() > 1);
    for command in commands {
        let (line, shown) = command.split_once('\n').unwrap();
        let arguments: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cargo(&arguments, "").trim_end(), shown.trim_end(), "cargo {line}");
    }
}

#[test]
fn first_block_is_the_hello_example() {
    let (server, _its_test) = include_str!("../../../../examples/hello/src/main.rs").split_once("\n#[test]").unwrap();
    assert_eq!(README.blocks("rust,no_run")[0].trim(), server.trim());
    assert!(server.lines().count() <= 12);
}

#[test]
fn http_block_is_the_tested_server() {
    assert_eq!(HTTP.blocks("rust,no_run")[0].trim(), include_str!("http.rs").trim());
}

/// The output of a command of `docs/http.md` in a shell, with its server at this address.
#[cfg(unix)]
async fn shell(script: &str, address: std::net::SocketAddr) -> String {
    let found = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "the commands of docs/http.md need `curl`: {found:?}");
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
    let site = mcp_tests::http::Site::serving(over_http::shown()).await;
    let commands = HTTP.blocks("sh");
    assert_eq!(commands.len(), 2, "one for each era");
    for (command, revision) in commands.into_iter().zip(["2026-07-28", "2025-11-25"]) {
        assert!(command.contains(revision));
        let answer = shell(command, site.address).await;
        HTTP.shows(&answer);
        assert!(answer.contains(r#""text":"5""#));
    }
}

#[test]
fn tables_list_every_example_and_feature() {
    let rows = |from: &str| -> BTreeSet<&'static str> {
        let table = README.text.split_once(from).expect("the table").1;
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let names = rows.filter_map(|row| row.split('|').nth(1));
        names.flat_map(|names| names.split('`').skip(1).step_by(2)).collect()
    };
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    let examples: BTreeSet<String> = examples.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(rows("| example | what it is |"), examples.iter().map(String::as_str).collect());

    let manifest = include_str!("../../../../mcp-runtime/Cargo.toml");
    let features = manifest.split_once("[features]\n").unwrap().1.split("\n[").next().unwrap();
    let features = features.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let features = features.filter_map(|line| line.split_once(" = ").map(|(name, _)| name)).collect();
    assert_eq!(rows("| feature | what it adds |"), features);
}

#[test]
fn every_page_is_tested() {
    let doctests = include_str!("../../../src/lib.rs");
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            continue; // pictures
        }
        let path = format!("docs/{}", entry.file_name().to_str().unwrap());
        assert!(PAGES.iter().any(|page| page.path == path), "add {path} to `PAGES`");
        assert!(doctests.contains(&format!("include_str!(\"../../{path}\")")), "add {path} to `mcp_tests::pages`");
    }
}

#[test]
fn readme_has_at_most_250_lines() {
    assert!(README.text.lines().count() <= 250, "move details to docs/");
}

/// The anchors GitHub makes of a page's headings.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    headings.map(|heading| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

/// Linked pages are read on GitHub, where a link that only rustdoc resolves is dead.
#[test]
fn links_resolve() {
    for page in PAGES {
        let links = page.text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let this = root().join(page.path);
            let path = if file.is_empty() { this } else { this.parent().unwrap().join(file) };
            assert!(path.exists(), "{}: {link}", page.path);
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(path).unwrap();
                assert!(!text.contains("](crate::"), "{link} has a link for rustdoc alone");
                let found = anchor.is_none_or(|anchor| anchors(&text).iter().any(|known| known == anchor));
                assert!(found, "{}: {link}", page.path);
            }
        }
    }
}
