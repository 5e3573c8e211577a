//! `Server::lint`, with handlers as people write them: what each rule finds, and what it leaves alone.

use std::time::Duration;

use mcp_runtime::layers::{Cache, Retry};
use mcp_runtime::lint::{LintOptions, Rule};
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::PromptMessage;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The rules and places of a server's findings.
fn found(server: &Server) -> Vec<(Rule, String)> {
    server.lint().into_iter().map(|finding| (finding.rule, finding.place)).collect()
}

fn server(tools: impl IntoIterator<Item = Tool>) -> Server {
    Server::new("s", "1.0.0").tools(tools)
}

/// Where notes are kept.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Shelf {
    Home,
    Work,
}

/// Search notes.
#[tool(read_only)]
fn search(
    /// Words that must all occur.
    query: String,
    /// The maximum number of notes.
    #[arg(default = 10)]
    limit: u32,
    /// Only notes with this tag.
    tag: Option<String>,
    shelf: Shelf,
) -> String {
    let shelf = if matches!(shelf, Shelf::Home) { "home" } else { "work" };
    format!("{query} {limit} {tag:?} {shelf}")
}

/// Delete a note.
#[tool(destructive)]
fn delete_note(
    /// Its number.
    id: u64,
) -> String {
    id.to_string()
}

/// Say the time.
#[tool(read_only)]
fn clock() -> u64 {
    0
}

#[test]
fn good_server_has_no_findings() {
    assert_eq!(found(&server(tools![search, delete_note, clock])), []);
}

#[tool]
fn bare(a: u64, b: Value) -> String {
    format!("{a}{b}")
}

#[prompt]
fn ask(topic: String) -> [PromptMessage; 1] {
    [PromptMessage::user(topic)]
}

#[test]
fn missing_descriptions_are_found() {
    let missing = |place: &str| (Rule::MissingDescription, place.to_owned());
    assert_eq!(
        found(&server(tools![bare]).prompts(prompts![ask])),
        [
            missing("tool bare"),
            missing("tool bare › argument a"),
            missing("tool bare › argument b"),
            missing("prompt ask"),
            missing("prompt ask › argument topic"),
        ]
    );
}

mod duplicates {
    use mcp_runtime::prelude::*;

    /// Search notes, otherwise.
    #[tool(name = "note-search")]
    pub(super) fn note_search() {}

    /// Search notes.
    #[tool]
    pub(super) fn search_notes() {}
}

#[test]
fn names_that_differ_by_nothing_but_form_are_found() {
    let findings = server(tools![duplicates::search_notes, duplicates::note_search]).lint();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.rule, finding.place.as_str()), (Rule::ConfusingNames, "tool note-search"));
    assert!(finding.text.contains("`search_notes` only in a plural"), "{finding}");
    assert!(finding.to_string().contains("[confusing-names]\n  rename one"), "{finding}");
}

/// Search.
#[tool(name = "notes.search")]
fn dotted() {}

/// Search the notes.
#[tool(name = "search_all_the_notes_of_all_the_users_in_all_the_folders_of_one_place")]
fn long() {}

#[test]
fn refused_names_are_found_with_the_client_that_refuses_them() {
    let findings = server(tools![dotted, long]).lint();
    let [dot, length] = &findings[..] else { panic!("{findings:?}") };
    assert!(dot.rule == Rule::RefusedName && dot.text.contains("Claude Desktop"), "{dot}");
    assert!(length.rule == Rule::RefusedName && length.text.contains("OpenAI"), "{length}");
}

/// A tree.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Tree {
    children: Vec<Tree>,
}

/// A filter.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Filter {
    tag: Option<String>,
    #[serde(default)]
    #[schemars(with = "String")]
    author: Option<String>,
}

/// A way to pay.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Payment {
    #[serde(flatten)]
    way: Way,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Way {
    Cash { coins: u8 },
    Card { number: String },
}

/// Take a tree.
#[tool]
fn plant(tree: Tree) {
    drop(tree);
}

/// Take a filter.
#[tool]
fn sieve(filter: Filter) {
    drop(filter);
}

/// Pay.
#[tool]
fn pay(#[arg(flatten)] payment: Payment) {
    drop(payment);
}

#[test]
fn refused_schemas_are_found_with_the_client_that_refuses_them() {
    let findings = server(tools![plant, sieve]).lint();
    let [tree, filter] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(tree.place, "tool plant › argument tree › field children › items");
    assert!(tree.rule == Rule::RefusedSchema && tree.text.contains("Gemini"), "{tree}");
    assert_eq!(filter.place, "tool sieve › argument filter › field tag", "the remedy is on the other field");
    assert!(filter.text.contains("string, null") && filter.remedy.contains("schemars(with"), "{filter}");

    let findings = server(tools![pay]).lint();
    let finding = findings.iter().find(|finding| finding.rule == Rule::RefusedSchema);
    assert!(finding.is_some_and(|finding| finding.text.contains("Anthropic")), "{findings:?}");
}

#[test]
fn budgets_can_be_set() {
    let server = server(tools![search, delete_note, clock]);
    let tight = LintOptions::new().tool_tokens(80).list_tokens(100);
    let places: Vec<String> = server.lint_with(&tight).into_iter().map(|finding| finding.place).collect();
    assert_eq!(places, ["tool search", "tools"]);
    assert!(server.lint_with(&tight.allow_everywhere(Rule::TokenBudget)).is_empty());
}

/// Remove a tag.
#[tool]
fn remove_tag(
    /// The tag.
    tag: String,
) {
    drop(tag);
}

/// Remove the background of a picture.
#[tool(destructive = false)]
fn remove_background() {}

#[test]
fn missing_hints_are_found() {
    let server = server(tools![remove_tag, remove_background, delete_note]);
    assert_eq!(found(&server), [(Rule::MissingHint, "tool remove_tag".to_owned())]);
}

/// Tell what there is.
#[tool(read_only)]
fn told() -> mcp_runtime::Json<Value> {
    mcp_runtime::Json(json!({}))
}

/// Tell how much there is, if anything.
#[tool(read_only)]
fn perhaps() -> Option<mcp_runtime::Json<Vec<u8>>> {
    None
}

/// Tell how much there is.
#[tool(read_only)]
fn counted() -> mcp_runtime::Json<Vec<u8>> {
    mcp_runtime::Json(Vec::new())
}

#[test]
fn json_without_a_schema_is_found() {
    let server = server(tools![told, perhaps, counted]);
    let missing = |name: &str| (Rule::MissingOutputSchema, format!("tool {name}"));
    assert_eq!(found(&server), [missing("told"), missing("perhaps")]);
}

const MINUTE: Duration = Duration::from_secs(60);

/// Note something.
#[tool(layer = [Cache::new(MINUTE), Retry::new(3)])]
fn note() {}

/// Set the clock.
#[tool(idempotent, layer = [Cache::new(MINUTE), Retry::new(3)])]
fn set_clock() {}

/// Read the clock.
#[tool(read_only, layer = [Cache::new(MINUTE), Retry::new(3)])]
fn read_clock() {}

/// Ring the bell.
#[tool(layer = Retry::new(3).even_if_not_idempotent())]
fn ring() {}

struct Block;

/// The layers of a block are for those of its tools that they fit.
#[handlers(layer = Cache::new(MINUTE))]
#[allow(clippy::unused_self, reason = "only their layers matter")]
impl Block {
    /// Write something.
    #[tool]
    fn write() {}

    /// Write something else.
    #[tool(layer = Retry::new(2))]
    fn rewrite() {}
}

#[test]
fn layers_that_never_do_anything_are_found() {
    let server = server(tools![note, set_clock, read_clock, ring]).mount(Block);
    let server = server.layer(Cache::new(MINUTE)); // for all of them
    let idle = |name: &str| (Rule::IdleLayer, format!("tool {name}"));
    assert_eq!(found(&server), [idle("note"), idle("note"), idle("set_clock"), idle("rewrite")]);
    let texts: Vec<String> = server.lint().iter().map(ToString::to_string).collect();
    assert!(
        texts[0].contains("`Cache` keeps no result, because the tool is not `read_only` [idle-layer]"),
        "{}",
        texts[0]
    );
    assert!(
        texts[1].contains("`Retry` repeats no call") && texts[1].contains("even_if_not_idempotent"),
        "{}",
        texts[1]
    );
    assert!(texts[2].contains("`Cache`") && texts[3].contains("`Retry`"), "{texts:?}");
}
