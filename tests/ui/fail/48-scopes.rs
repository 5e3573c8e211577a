//! Row 48: the scopes a caller must have.
use mcp_runtime::prelude::*;

#[tool(scopes("notes:write notes:read"))]
fn write(text: String) -> String {
    text
}

#[tool(scopes("", "nötes", "a\"b", "notes:read", "notes:read"))]
fn read(id: u64) -> String {
    id.to_string()
}

#[prompt(scopes = "notes:read")]
fn compose() -> String {
    String::new()
}

#[resource("notes://all", scopes(notes))]
fn all() -> String {
    String::new()
}

#[resource("notes://mine", scopes())]
fn mine() -> String {
    String::new()
}

struct Notes;

#[handlers(scopes("notes read"), scopes("a"))]
impl Notes {
    #[tool(scope("notes:read"))]
    fn note(&self) {}
}

fn main() {
    let _ = (tools![write, read], prompts![compose], resources![all, mine]);
    let _ = Server::new("s", "1").mount(Notes);
}
