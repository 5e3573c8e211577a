//! Row 31: a method that completes an argument or decides about visibility, without `Self::`.
use mcp_runtime::prelude::*;

struct Notes;

#[handlers]
impl Notes {
    #[prompt]
    fn ask(&self, #[arg(complete = titles)] title: String, #[arg(complete = words)] word: String) -> String {
        title + &word
    }

    #[tool(visible_if = is_admin)]
    fn delete(&self) {}

    fn titles(&self, typed: &str) -> Vec<String> {
        vec![typed.to_owned()]
    }

    fn words(typed: &str) -> Vec<String> {
        vec![typed.to_owned()]
    }

    fn is_admin(&self, ctx: &Context) -> bool {
        ctx.principal().is_some()
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(Notes);
}
