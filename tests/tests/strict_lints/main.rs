//! Generated code passes strict lints. Some of them are for whole crates: hence a binary of its own.
#![forbid(unsafe_code)]
#![deny(
    warnings,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    unused,
    absolute_paths_not_starting_with_crate,
    ambiguous_negative_literals,
    closure_returning_async_block,
    deprecated_in_future,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    ffi_unwind_calls,
    if_let_rescope,
    impl_trait_redundant_captures,
    let_underscore_drop,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_abi,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_ascii_idents,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    tail_expr_drop_order,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused_extern_crates,
    unused_import_braces,
    unused_lifetimes,
    unused_macro_rules,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![deny(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::absolute_paths,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::else_if_without_else,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::min_ident_chars,
    clippy::missing_assert_message,
    clippy::missing_docs_in_private_items,
    clippy::missing_inline_in_public_items,
    clippy::panic,
    clippy::partial_pub_fields,
    clippy::pattern_type_mismatch,
    clippy::print_stdout,
    clippy::redundant_type_annotations,
    clippy::renamed_function_params,
    clippy::same_name_method,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::std_instead_of_core,
    clippy::str_to_string,
    clippy::unimplemented,
    clippy::unneeded_field_pattern,
    clippy::unreachable,
    clippy::unwrap_in_result,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
// What this file itself does on purpose.
#![expect(clippy::tests_outside_test_module, clippy::missing_inline_in_public_items, reason = "this is a test")]
#![expect(clippy::unused_async, reason = "these handlers have nothing to wait for")]

use mcp_runtime::protocol::CompletionContext;
use mcp_runtime::{
    Context, Error, Json, Resource, Result, Server, handlers, prompt, prompts, resource, resources, tool, tools,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A unit.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
pub enum Unit {
    /// °C
    Celsius,
}

/// Add two integers.
#[tool(title = "Adder", read_only, idempotent, meta = { "example.com/kind": 1 })]
#[must_use]
pub fn add(first: i64, #[arg(default = 1)] second: i64) -> i64 {
    first.max(second)
}

/// How to say it.
fn style() -> String {
    String::from("plain")
}

/// Say something.
#[tool(blocking, timeout = "5s")]
fn say(
    /// What to say.
    text: String,
    #[arg(default = Unit::Celsius)] unit: Unit,
    #[arg(default = "plain")] style: String,
    #[arg(default)] times: usize,
    #[arg(default = style())] other: String,
    tag: Option<String>,
    ctx: &Context,
) -> Result<String> {
    if text.is_empty() {
        return Err(Error::msg("say what?"));
    }
    Ok(format!("{text}{unit:?}{style}{times}{other}{tag:?}{}", ctx.request_id()))
}

/// Say it later.
#[tool(crate = ::mcp_runtime)]
async fn later(ctx: &Context, unit: Unit) -> Json<Unit> {
    let _id = ctx.request_id();
    Json(unit)
}

/// What somebody says.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Answer {
    /// In a word.
    word: String,
}

/// It, once more.
type Another = Answer;

/// Ask somebody.
#[tool(requires(elicitation, roots), task = "optional", asks_first)]
async fn ask_twice(ctx: &Context) -> Result<String> {
    let Answer { word } = ctx.elicit("What?").await?;
    let again = ctx.elicit::<Another>("What?").await?;
    Ok(word + &again.word)
}

/// Names that begin like this.
fn names(typed: &str) -> Vec<String> {
    vec![typed.to_owned()]
}

/// Greetings for a name.
async fn greetings(typed: &str, others: &CompletionContext) -> Vec<String> {
    vec![format!("{typed} {:?}", others.get("name"))]
}

/// Greet somebody.
#[prompt]
async fn greet(
    #[arg(complete = names)] name: String,
    #[arg(complete = greetings)] greeting: String,
    unit: Option<Unit>,
) -> String {
    format!("{greeting}, {name}! {unit:?}")
}

/// A note.
#[resource("note://{id}", mime = "text/plain", audience = "user", priority = 0.5, last_modified = "2026-01-31")]
pub(crate) fn note(id: u64) -> Option<String> {
    (id == 7).then(|| String::from("seven"))
}

/// The manual.
#[resource("docs://manual", size = 8)]
async fn manual() -> &'static str {
    "# Manual"
}

/// Notes.
#[derive(Debug)]
pub struct Notebook {
    /// All of them.
    notes: Vec<String>,
}

#[handlers]
impl Notebook {
    /// Find notes.
    #[tool]
    fn search(&self, query: String) -> Json<Vec<String>> {
        Json(self.notes.iter().filter(|note| note.contains(&query)).cloned().collect())
    }

    /// How many there are.
    #[tool(read_only)]
    async fn count(&self, ctx: &Context) -> usize {
        let _id = ctx.request_id();
        self.notes.len()
    }

    /// The version.
    #[tool(blocking)]
    fn version() -> String {
        String::from("1")
    }

    /// Ask.
    #[prompt]
    fn ask(&self, #[arg(complete = Self::beginnings)] beginning: String) -> String {
        beginning + &self.notes.concat()
    }

    /// Notes that begin like this.
    fn beginnings(&self, typed: &str) -> Vec<String> {
        self.notes.iter().filter(|note| note.starts_with(typed)).cloned().collect()
    }

    /// One of them.
    #[resource("book://{page}")]
    #[must_use]
    pub fn page(&self, page: usize) -> Option<String> {
        self.notes.get(page).cloned()
    }
}

/// Settings.
#[derive(Debug, Serialize, Resource)]
#[resource(uri = "config://{name}", title = "{name}", size)]
pub struct Config {
    /// Their name.
    name: String,
}

/// A page.
#[derive(Debug, Resource)]
#[resource(uri = "page://one")]
struct Page {
    /// Its text.
    #[resource(text)]
    body: String,
    /// When it changed.
    #[resource(last_modified)]
    changed: &'static str,
}

/// The server.
fn server() -> Server {
    Server::new("test", "1")
        .tools(tools![add, say, later, ask_twice])
        .prompts(prompts![greet])
        .resources(resources![note, manual])
        .resource(Config { name: String::from("app") })
        .resource(Page { body: String::new(), changed: "2026-01-31" })
        .mount(Notebook { notes: Vec::new() })
}

#[test]
fn generated_code_has_no_warnings() {
    drop(server());
}
