//! Row 46: a function whose type hides the crate or module that the function uses.
use mcp_runtime::prelude::*;

mod paths {
    pub fn join(a: &str, b: &str) -> String {
        format!("{a}/{b}")
    }
}

#[tool]
fn schemars(name: String) -> String {
    let _ = schemars::SchemaGenerator::default();
    name
}

#[prompt]
async fn serde_json(text: String) -> Result<serde_json::Value> {
    Ok(text.parse()?)
}

mod nested {
    use mcp_runtime::prelude::*;

    #[tool]
    pub fn paths(a: String) -> String {
        super::paths::join(&a, &format!("{}", paths::join(&a, "b")))
    }
}

#[tool(item = "search_tool")]
fn search() {}

struct App;

#[handlers]
impl App {
    #[tool(item = find_tool)]
    fn find(&self) {}
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://app", item = config)]
struct Config {
    theme: String,
}

fn main() {
    let _ = (tools![schemars, nested::paths, search], prompts![serde_json]);
    let _ = Server::new("s", "1").mount(App).resource(Config { theme: paths::join("", "") });
}
