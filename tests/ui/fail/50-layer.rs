// A layer that is none: no value, a text, a function of another shape, a method without `Self`.
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::prelude::*;

#[tool(layer)]
fn nothing() {}

#[tool(layer = "audited")]
fn text() {}

#[tool(layer = [])]
fn empty() {}

#[prompt(layer(audited))]
fn words() -> String {
    String::new()
}

#[derive(Resource)]
#[resource(uri = "a://b", layer = audited)]
struct Derived;

async fn audited(call: Call, next: Next) -> Outcome {
    next.run(call).await
}

struct Notes;

#[handlers(layer = guard)]
impl Notes {
    #[tool(layer = guard)]
    fn read(&self) {}

    async fn guard(&self, call: Call, next: Next) -> Outcome {
        next.run(call).await
    }
}

fn main() {
    let _ = (tools![nothing, text, empty], prompts![words]);
    let _ = Server::new("s", "1").mount(Notes);
}
