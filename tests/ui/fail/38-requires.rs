//! Row 38: what a client has to be able to do.
use mcp_runtime::prelude::*;

#[tool(requires(elicit))]
fn near() {}

#[prompt(requires(elicitationUrl, tea, roots))]
fn two() -> String {
    String::new()
}

#[resource("docs://manual", requires(telepathy))]
fn unknown() -> String {
    String::new()
}

#[tool(requires = elicitation)]
fn assigned() {}

#[tool(requires)]
fn alone() {}

#[tool(requires())]
fn empty() {}

#[tool(requires("elicitation"))]
fn text() {}

#[tool(requires(elicitation.url))]
fn dotted() {}

#[tool(requires(roots), requires(sampling))]
fn twice() {}

#[tool(requires(roots, sampling, roots))]
fn again() {}

#[tool(title("Adder"))]
fn words() {}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app", requires(elicitation))]
struct Config {
    theme: String,
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool(requires(sampling_tool))]
    fn search(&self) {}
}

fn main() {
    let _ = (tools![near, assigned, alone, empty, text, dotted, twice, again, words], prompts![two], resources![unknown]);
    let _ = Server::new("s", "1").resource(Config { theme: String::new() }).mount(Notebook);
}
