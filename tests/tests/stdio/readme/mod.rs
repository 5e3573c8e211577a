//! The commands of the README and of `docs/` print what these pages show. Their Rust blocks are doctests of the
//! support library, and `tests/book` runs those that a doctest only compiles.

/// The server of `docs/book/http.md`.
#[cfg(unix)]
#[allow(dead_code, reason = "its `main` has an address of its own")]
mod over_http {
    include!("http.rs");

    pub(super) fn shown() -> HttpService {
        service()
    }
}

/// The test of a process in `docs/book/testing.md`, of a program that has more than a `demo`.
mod process {
    include!("process.rs");
}

mod blocks;
mod clients;
mod errors;
mod migrating;
mod mistakes;
mod shell;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mcp_tests::process::without_package;

/// A page of the documentation.
struct Page {
    /// Its path below the root of the repository.
    path: String,
    text: String,
}

fn page(path: &str) -> Page {
    Page { path: path.to_owned(), text: std::fs::read_to_string(root().join(path)).unwrap() }
}

fn readme() -> Page {
    page("README.md")
}

/// The pages of the book, its table of contents among them.
fn book() -> Vec<Page> {
    let files = std::fs::read_dir(root().join("docs/book")).unwrap().map(|file| file.unwrap().path());
    let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.map(|path| page(&format!("docs/book/{}", path.file_name().unwrap().to_str().unwrap()))).collect()
}

impl Page {
    /// The fenced blocks of a language.
    fn blocks(&self, language: &str) -> Vec<&str> {
        let fence = format!("```{language}\n");
        self.text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
    }

    #[cfg(unix)]
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
    let mut server = without_package(&mut Command::new(env!("CARGO")))
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
    let readme = readme();
    let transcript = readme.blocks("console")[0];
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
    assert_eq!(readme().blocks("rust,no_run")[0].trim(), server.trim());
    assert!(server.lines().count() <= 12);
}

#[test]
fn http_block_is_the_tested_server() {
    assert_eq!(page("docs/book/http.md").blocks("rust,no_run")[0].trim(), include_str!("http.rs").trim());
}

#[test]
fn test_of_a_process_is_tested() {
    let shown =
        page("docs/book/testing.md").blocks("rust,ignore")[0].replace("CARGO_BIN_EXE_demo", "CARGO_BIN_EXE_commands");
    assert_eq!(shown.trim(), include_str!("process.rs").trim());
}

/// What compilers and panics say about mistakes is held by tests of its own, in `ui/` and `setup.rs`: pages quote it.
#[test]
fn quoted_messages_are_those_of_the_tests() {
    let ui = std::fs::read_dir(root().join("tests/ui/fail")).unwrap().map(|file| file.unwrap().path());
    let expected = ui.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    let expected: Vec<String> = expected.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let panics = include_str!("../../protocol/setup.rs");
    let mut quoted = 0;
    for page in book() {
        let Some((_, mistakes)) = page.text.split_once("\n## Mistakes") else { continue };
        let mistakes = Page { path: page.path, text: mistakes.to_owned() };
        for message in mistakes.blocks("text").into_iter().flat_map(str::lines) {
            quoted += 1;
            let known =
                panics.contains(message) || expected.iter().any(|told| told.lines().any(|line| line == message));
            assert!(known, "{} quotes what no test expects: {message}", mistakes.path);
        }
    }
    assert!(quoted > 10, "{quoted}");
}

/// The output of a command of `docs/book/http.md` in a shell, with its server at this address.
#[cfg(unix)]
async fn shell(script: &str, address: std::net::SocketAddr) -> String {
    let found = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "the commands of docs/book/http.md need `curl`: {found:?}");
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
    let page = page("docs/book/http.md");
    let commands = page.blocks("sh");
    assert_eq!(commands.len(), 2, "one for each era");
    for (command, revision) in commands.into_iter().zip(["2026-07-28", "2025-11-25"]) {
        assert!(command.contains(revision));
        let answer = shell(command, site.address).await;
        page.shows(&answer);
        assert!(answer.contains(r#""text":"5""#));
    }
}

#[test]
fn tables_list_every_example_and_feature() {
    let readme = readme();
    let rows = |from: &str| -> BTreeSet<&str> {
        let table = readme.text.split_once(from).expect("the table").1;
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
fn contents_list_every_page() {
    let contents = page("docs/book/SUMMARY.md").text;
    for page in book().iter().filter(|page| !page.path.ends_with("SUMMARY.md")) {
        let name = page.path.rsplit('/').next().unwrap();
        assert!(contents.contains(&format!("]({name})")), "add {name} to docs/book/SUMMARY.md");
    }
}

#[test]
fn readme_has_at_most_250_lines() {
    assert!(readme().text.lines().count() <= 250, "move details to docs/");
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
    for page in book().into_iter().chain([readme()]) {
        let links = page.text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let this = root().join(&page.path);
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
