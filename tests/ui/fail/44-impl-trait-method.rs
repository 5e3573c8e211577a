//! Row 44: `impl Trait` as the return type of a function that borrows.
use std::fmt::Display;

use mcp_runtime::prelude::*;

struct App(String);

#[handlers]
impl App {
    #[tool]
    fn of_the_state(&self) -> impl Display {
        &self.0
    }

    #[tool]
    fn result(&self) -> impl mcp_runtime::IntoToolResult {
        &*self.0
    }

    #[tool]
    async fn nested(&self) -> Option<impl mcp_runtime::IntoToolResult> {
        Some(1)
    }
}

#[prompt]
fn greet(ctx: &Context) -> impl mcp_runtime::IntoPromptResult {
    ctx.client_name().unwrap_or_default()
}

fn main() {
    let _ = prompts![greet];
    let _ = Server::new("s", "1").mount(App(String::new()));
}
