//! Row 14: a future that holds an `Rc` across `.await`.
use std::rc::Rc;

use mcp_runtime::prelude::*;

#[tool]
async fn wait(name: String) -> String {
    let shared = Rc::new(name);
    tokio::task::yield_now().await;
    shared.to_string()
}

fn main() {
    let _ = tools![wait];
}
