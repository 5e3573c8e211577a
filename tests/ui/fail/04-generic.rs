//! Row 4: type and const parameters, `impl Trait` arguments.
use mcp_runtime::prelude::*;

#[tool]
fn echo<T: ToString>(value: T) -> String {
    value.to_string()
}

#[tool]
fn repeat<const N: usize>(text: String) -> String {
    text.repeat(N)
}

#[prompt]
async fn show(value: impl ToString + Send) -> String {
    value.to_string()
}

fn main() {
    echo(1);
    repeat::<2>(String::new());
    let _ = show(1);
    let _ = Server::new("s", "1").tools(tools![echo, repeat]).prompts(prompts![show]);
}
