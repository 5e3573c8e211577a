//! Row 35: a function without `#[tool]`; a name that does not exist. The error for a bare name is rustc's; its note says what to do.
use mcp_runtime::prelude::*;

fn helper() {}

mod text {
    pub(crate) fn count() {}

    pub(crate) mod deeper {
        pub(crate) fn upper() {
            let _ = mcp_runtime::tools![self::upper, super::count];
        }
    }
}

mod notes {
    use mcp_runtime::prelude::*;

    #[prompt]
    pub(crate) fn ask() -> String {
        String::new()
    }

    #[tool]
    pub(crate) fn search() {}
}

fn main() {
    helper();
    text::count();
    text::deeper::upper();
    let _ = tools![helper, self::helper, text::count, notes::search, crate::text::deeper::upper];
    let _ = tools![notes::ask];
    let _ = prompts![text::count, notes::search];
    let _ = resources![text::count];
    let _ = tools![missing, notes::serch];
}
