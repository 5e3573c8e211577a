//! Row 18: what `#[handlers]` does not take.
use mcp_runtime::prelude::*;

struct First;

#[handlers("first")]
impl First {
    #[tool]
    fn first(&self) {}
}

struct Second;

#[handlers(prefix = "second", crate = mcp_runtime, crate = mcp_runtime)]
impl Second {
    #[tool = "second"]
    fn second(&self) {}
}

fn main() {
    let _ = Server::new("s", "1").mount(First).mount(Second);
}
