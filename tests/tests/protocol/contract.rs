//! `assert_contract!` from the outside: a server against the recorded contract of an earlier version of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use mcp_runtime::lint::{LintOptions, Rule};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ContractOptions, TestClient, assert_contract, contract_of};
use mcp_runtime::{Json, Revision};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize, JsonSchema)]
struct Hit {
    id: u64,
    title: String,
}

/// Find notes by their text.
#[tool(read_only)]
fn search(
    /// Words that must all occur.
    query: String,
    /// The maximum number of notes.
    #[arg(default = 10)]
    limit: u32,
) -> Json<Vec<Hit>> {
    Json(vec![Hit { id: limit.into(), title: query }])
}

/// Ask for a review of a note.
#[prompt]
fn review(
    /// The title of the note.
    title: String,
) -> String {
    title
}

/// All notes.
#[resource("notes://index", mime = "application/json", subscribe)]
fn index() -> &'static str {
    "[]"
}

/// One note.
#[resource("note://{id}", mime = "text/markdown")]
fn note(id: u64) -> String {
    id.to_string()
}

/// The version of the server that was recorded.
fn recorded() -> Server {
    Server::new("notes", "1.0.0")
        .instructions("Search first.")
        .tools(tools![search])
        .prompts(prompts![review])
        .resources(resources![index, note])
}

/// The same server after a change.
mod changed {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    pub(super) struct Hit {
        id: u64,
        title: Option<String>,
        score: f64,
    }

    /// Find notes by their words.
    #[tool]
    pub(super) fn search(
        /// Words that must all occur.
        query: String,
        /// The maximum number of notes.
        #[arg(default = 20)]
        limit: u8,
        /// Only notes in this folder.
        folder: String,
        /// Only notes with this tag.
        tag: Option<String>,
    ) -> Json<Vec<Hit>> {
        let title = tag.unwrap_or(folder + &query);
        Json(vec![Hit { id: limit.into(), title: Some(title), score: 1.0 }])
    }

    /// Ask for a review of a note.
    #[prompt]
    pub(super) fn review(
        /// The title of the note.
        title: String,
        /// What to look at.
        focus: String,
    ) -> String {
        title + &focus
    }

    /// All notes.
    #[resource("notes://all", name = "index", mime = "application/json")]
    pub(super) fn all() -> &'static str {
        "[]"
    }
}

/// Someone who updates all contracts must not write the files of these tests.
fn only_read() {
    assert_eq!(env::var_os("UPDATE_CONTRACT"), None, "these tests need assertions that only read");
}

/// A file of its own for each test.
fn file(name: &str) -> PathBuf {
    only_read();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("contract-{name}.json"))
}

/// Records a server in a file.
fn record(name: &str, server: &Server) -> PathBuf {
    let path = file(name);
    fs::write(&path, contract_of(server)).unwrap();
    path
}

/// The message of a failed assertion.
fn failure(server: &Server, options: impl Into<ContractOptions>) -> Option<String> {
    let options = options.into();
    let panic = catch_unwind(AssertUnwindSafe(|| assert_contract!(*server, options))).err()?;
    Some(panic.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text))
}

/// The failure of `new` against the contract of `old`.
#[track_caller]
fn difference(name: &str, old: &Server, new: &Server) -> String {
    let path = record(name, old);
    failure(new, ContractOptions::new().path(path)).expect("the contract is broken")
}

#[test]
fn unchanged_server_keeps_its_contract() {
    let path = record("unchanged", &recorded());
    assert_contract!(recorded(), ContractOptions::new().path(&path));
    assert_contract!(recorded(), path.to_str().unwrap());
}

#[test]
fn version_is_not_part_of_the_contract() {
    let path = record("version", &Server::new("s", "1.0.0"));
    assert_eq!(failure(&Server::new("s", "2.0.0"), ContractOptions::new().path(path)), None);
}

#[test]
fn breaking_changes_are_named() {
    let new = Server::new("notes", "1.1.0")
        .instructions("Search first.")
        .tools(tools![changed::search])
        .prompts(prompts![changed::review])
        .resources(resources![changed::all]);
    let text = difference("breaking", &recorded(), &new);
    let (breaking, rest) = text.split_once("If that is meant, publish a new major version").unwrap();
    assert!(breaking.starts_with("clients that work today will fail"), "{text}");
    for line in [
        "tool search › argument limit › maximum: none → 255",
        "tool search › argument limit › default: 10 → 20",
        "tool search › argument folder: new, and required",
        "tool search › result › items › field title › type: string → string or null",
        "tool search › annotations › readOnlyHint: no longer true",
        "prompt review › argument focus: new, and required",
        "resource notes://index › uri: notes://index → notes://all",
        "resource notes://index › subscribe: true → false",
        "template note://{id}: removed",
        "capabilities › resources › subscribe: removed",
    ] {
        assert!(breaking.contains(&format!("\n  {line}")), "{line} is missing:\n{text}");
    }
    let (additive, cosmetic) = rest.split_once("Record it:").unwrap();
    assert!(additive.contains("tool search › argument tag: new, and optional"), "{text}");
    assert!(additive.contains("tool search › result › items › field score: new"), "{text}");
    assert!(cosmetic.contains("tool search › description: \"Find notes by their text.\""), "{text}");
}

#[test]
fn additive_changes_fail_in_other_words() {
    let less = Server::new("notes", "1.0.0").tools(tools![search]);
    let more =
        Server::new("notes", "1.0.0").tools(tools![search]).prompts(prompts![review]).resources(resources![note]);
    let text = difference("additive", &less, &more);
    assert!(text.starts_with("the server offers more than"), "{text}");
    assert!(text.contains("UPDATE_CONTRACT=1 cargo test") && !text.contains("will fail"), "{text}");
    for line in ["prompt review: new", "template note://{id}: new", "capabilities › prompts: new"] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
}

#[test]
fn cosmetic_changes_pass() {
    let path = record("cosmetic", &recorded());
    let reordered = Server::new("notes", "1.0.0")
        .title("Notes")
        .instructions("Search before you create.")
        .tools(tools![search])
        .resources(resources![note, index])
        .prompts(prompts![review]);
    assert_eq!(failure(&reordered, ContractOptions::new().path(path)), None);
}

#[test]
fn custom_methods_and_requirements_are_part_of_the_contract() {
    /// Ask the user.
    #[tool(requires(elicitation))]
    fn ask() {}
    let [asking] = tools![ask];
    let old = |methods: bool| {
        let server = Server::new("s", "1.0.0");
        if methods {
            server.method("example.com/height", |_: Context, north: f64| async move { Ok(json!({"north": north})) })
        } else {
            server
        }
    };
    assert!(difference("method", &old(true), &old(false)).contains("method example.com/height: removed"));
    assert!(difference("new-method", &old(false), &old(true)).contains("method example.com/height: new"));
    let contract: Value = serde_json::from_str(&contract_of(&old(false).tools([asking]))).unwrap();
    assert_eq!(contract["tools"][0]["requires"], json!(["elicitation"]));
}

#[test]
fn missing_or_damaged_contract_says_what_to_do() {
    let path = file("missing");
    let _ = fs::remove_file(&path); // of the run before
    let text = failure(&recorded(), ContractOptions::new().path(&path)).unwrap();
    assert!(text.contains("the file is missing") && text.contains("UPDATE_CONTRACT=1 cargo test"), "{text}");
    fs::write(&path, "<<<<<<< HEAD").unwrap();
    let text = failure(&recorded(), ContractOptions::new().path(&path)).unwrap();
    assert!(text.contains("not a contract") && text.contains("line 1") && text.contains("UPDATE_CONTRACT=1"), "{text}");
}

#[test]
fn default_file_lies_in_the_root_of_the_crate() {
    only_read();
    let text = failure(&recorded(), ContractOptions::new()).unwrap();
    assert!(text.starts_with("contract.json: the file is missing"), "{text}");
    let panic = catch_unwind(|| assert_contract!(recorded())).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&text));
}

/// Run by `update_writes_the_contract`, in a process with the environment variable.
#[test]
#[ignore = "needs an environment variable; run by another test"]
fn update() {
    let path = env::var_os("CONTRACT_FILE").expect("run by another test");
    assert_contract!(recorded(), ContractOptions::new().path(path));
}

/// Runs the test `update` in a process of its own.
fn run_update(path: &Path, update: &str) -> std::process::Output {
    Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "contract::update", "--nocapture"])
        .env("CONTRACT_FILE", path)
        .env("UPDATE_CONTRACT", update)
        .output()
        .unwrap()
}

#[test]
fn update_writes_the_contract() {
    let path = file("folder").with_extension("").join("contract.json");
    let _ = fs::remove_file(&path); // of the run before
    for value in ["", "0"] {
        assert!(!run_update(&path, value).status.success() && !path.exists(), "{value:?} is not a wish");
    }
    let output = run_update(&path, "1");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("wrote"), "{output:?}");
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(written, contract_of(&recorded()));
    assert!(written.starts_with("{\n  \"server\": {\n    \"name\": \"notes\"") && written.ends_with("}\n"));
    assert!(!written.contains("1.0.0"), "the version changes with every release");
    assert!(run_update(&path, "0").status.success());
}

#[test]
fn cosmetic_changes_and_findings_are_printed() {
    let path = record("printed", &recorded().instructions("Otherwise.").title("Other"));
    let output = run_update(&path, "0");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("instructions: \"Otherwise.\" → \"Search first.\""), "{printed}");
    assert!(printed.contains("server › title: \"Other\" → none"), "{printed}");
}

/// A tool without words.
#[tool(description = "")]
fn mute(a: u64) -> u64 {
    a
}

#[test]
fn findings_fail_only_if_denied() {
    let server = Server::new("s", "1.0.0").tools(tools![mute]);
    let path = record("findings", &server);
    let options = || ContractOptions::new().path(&path);
    assert_eq!(failure(&server, options()), None);
    let text = failure(&server, options().deny_lints()).unwrap();
    assert!(text.contains("tool mute › argument a: no description") && text.contains("LintOptions::allow"), "{text}");
    let lints = LintOptions::new().allow(Rule::MissingDescription, "tool mute");
    assert_eq!(failure(&server, options().deny_lints().lints(lints)), None);
}

/// Disabled items are not offered.
#[test]
fn contract_has_what_is_offered_now() {
    let server = recorded();
    let handle = server.handle();
    handle.tools().disable("search");
    let contract: Value = serde_json::from_str(&contract_of(&server)).unwrap();
    assert_eq!(contract.get("tools"), None);
    handle.tools().enable("search");
    let contract: Value = serde_json::from_str(&contract_of(&server)).unwrap();
    assert_eq!(contract["tools"][0]["name"], "search");
}

/// The contract has what clients of the newest revision get.
#[tokio::test]
async fn contract_is_what_clients_see() -> Result<()> {
    let contract: Value = serde_json::from_str(&contract_of(&recorded()))?;
    let client = TestClient::with_revision(recorded(), Revision::LATEST).await?;
    for (method, list, own) in [
        ("tools/list", "tools", "tools"),
        ("prompts/list", "prompts", "prompts"),
        ("resources/list", "resources", "resources"),
        ("resources/templates/list", "resourceTemplates", "resourceTemplates"),
    ] {
        let mut recorded = contract[own].clone();
        for item in recorded.as_array_mut().into_iter().flatten() {
            // Not in the lists.
            item.as_object_mut().map(|item| (item.remove("subscribe"), item.remove("requires")));
        }
        assert_eq!(client.request(method, json!({})).await?[list], recorded, "{method}");
    }
    let discovered = client.request("server/discover", json!({})).await?;
    assert_eq!(discovered["capabilities"], contract["capabilities"]);
    assert_eq!(discovered["instructions"], contract["instructions"]);
    Ok(())
}
