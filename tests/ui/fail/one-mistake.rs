//! A broken handler that is used in every way: only its own mistake is reported.
use mcp_runtime::{Handlers, prelude::*};

#[tool(readonly)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[prompt]
async fn greet(name: &str) -> String {
    name.to_owned()
}

#[resource("note://{id}")]
pub fn note(id: u64, extra: u64) -> Option<String> {
    Some((id + extra).to_string())
}

struct Notebook;

#[handlers]
impl Notebook {
    #[tool]
    fn search(&self, query: &str) -> String {
        query.to_owned()
    }

    #[tool]
    async fn list(&self, ctx: &Context) -> String {
        self.search(ctx.request_id())
    }
}

#[derive(serde::Serialize, Resource)]
#[resource(uri = "config://{name}")]
struct Config {
    theme: &'static str,
}

fn tools() -> [Tool; 1] {
    tools![add]
}

async fn server() -> Server {
    let _: Handlers = Notebook.into();
    let _: Resource = Config { theme: "dark" }.into();
    assert_eq!(add(1, 2), 3);
    greet("you").await;
    note(1, 2);
    let _ = Notebook::list;
    Server::new("s", "1")
        .tools(tools())
        .tools(tools![self::add])
        .prompts(prompts![greet])
        .resources(resources![note])
        .resources(vec![Config { theme: "light" }])
        .mount(Notebook)
        .mount_as("other", Notebook)
}

fn main() {
    let _ = server();
}
