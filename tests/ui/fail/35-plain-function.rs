//! Row 35: a function without `#[tool]`; a name that does not exist.
use mcp_runtime::prelude::*;

fn helper() {}

mod text {
    pub(crate) fn count() {}
}

fn main() {
    helper();
    text::count();
    let _ = tools![helper, text::count, missing];
}
