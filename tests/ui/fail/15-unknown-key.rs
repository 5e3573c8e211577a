//! Row 15: keys that do not exist, near to one that does and near to none.
use mcp_runtime::prelude::*;

#[tool(readonly, titel = "Adder", colour = "red")]
fn add(
    #[arg(defualt = 1)] a: i64,
    #[arg(description = "the second", colour = "red")] b: i64,
) -> i64 {
    a + b
}

#[prompt(desciption = "…")]
fn greet() -> String {
    String::new()
}

#[resource("docs://manual", mimetype = "text/plain")]
fn manual() -> String {
    String::new()
}

#[derive(serde::Serialize, Resource)]
#[resource(url = "config://app", uri = "config://app")]
struct Config {
    #[resource(lastmodified)]
    changed: String,
    #[resource(contents)]
    theme: String,
}

struct Notebook;

#[handlers(krate = mcp_runtime)]
impl Notebook {
    #[tool(read_onyl)]
    fn search(&self) {}
}

fn main() {
    let _ = (tools![add], prompts![greet], resources![manual], add(1, 2));
    let _ = Server::new("s", "1").mount(Notebook).resource(Config { changed: String::new(), theme: String::new() });
}
