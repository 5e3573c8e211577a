//! Row 39: which tools can be tasks.
use mcp_runtime::prelude::*;

#[tool(task)]
fn quick() {}

#[tool(task = "required", read_only)]
fn quick_too() {}

#[tool(task = "always", blocking)]
fn value() {}

#[tool(task = false)]
async fn denied() {}

#[tool(asks_first)]
async fn no_task() {}

#[tool(task, asks_first = "yes")]
async fn not_a_flag() {}

#[tool(task, task = "required")]
async fn twice() {}

#[tool(tasks)]
async fn misspelt() {}

#[tool(task, blocking = 1)]
fn one_mistake() {}

#[tool(durable)]
async fn no_task_either() {}

#[tool(task, durable, blocking)]
fn thread() {}

#[prompt(task)]
async fn prompt() -> String {
    String::new()
}

#[resource("docs://manual", asks_first)]
async fn manual() -> String {
    String::new()
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app", task)]
struct Config {
    theme: String,
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool(task)]
    fn reindex(&self) {}
}

fn main() {
    let _ = (
        tools![quick, quick_too, value, denied, no_task, not_a_flag, twice, misspelt, one_mistake, no_task_either, thread],
        prompts![prompt],
        resources![manual],
    );
    let _ = Server::new("s", "1").resource(Config { theme: String::new() }).mount(Notebook);
}
