//! Row 2: the same, of an associated function. For now several errors: the macro cannot tell it from a plain one.
use mcp_runtime::prelude::*;

struct Notebook;

impl Notebook {
    #[tool]
    fn version() -> &'static str {
        "1"
    }
}

fn main() {
    Notebook::version();
}
