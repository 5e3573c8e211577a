//! Row 43: mistakes in attributes behind `cfg_attr`. Each is reported if its condition holds, and once.
use mcp_runtime::prelude::*;

#[tool]
fn wrong(#[cfg_attr(all(), arg(min = "1"))] n: u32, #[cfg_attr(any(), arg(nonsense))] m: u32) -> u32 {
    n + m
}

struct App;

#[handlers]
impl App {
    #[cfg_attr(all(), tool(readonly))]
    fn key(&self, #[cfg_attr(unix, arg(max = 3))] n: u32) -> u32 {
        n
    }

    #[cfg_attr(any(), tool(nonsense))]
    fn never(&self) {}
}

fn main() {
    let _ = Server::new("s", "1").tools(tools![wrong]).mount(App);
}
