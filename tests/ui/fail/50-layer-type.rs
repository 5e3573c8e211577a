// A layer of another shape: too few parameters, not async, another result, not a function.
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::prelude::*;

async fn alone(call: Call) -> Outcome {
    Error::msg(call.name()).into()
}

fn at_once(_: Call, _: Next) -> Outcome {
    Error::msg("no").into()
}

async fn text(_: Call, _: Next) -> String {
    String::new()
}

#[tool(layer = alone)]
fn one() {}

#[tool(layer = at_once)]
fn two() {}

#[tool(layer = text)]
fn three() {}

#[tool(layer = 1 + 1)]
fn four() {}

fn main() {
    let _ = tools![one, two, three, four];
    let _ = Server::new("s", "1").layer(alone);
}
