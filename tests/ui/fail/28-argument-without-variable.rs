//! Row 28: an argument that is not in the template.
use mcp_runtime::prelude::*;

#[resource("note://{id}")]
fn note(id: u64, format: String) -> String {
    format!("{id}{format}")
}

#[resource("note://{note_id}")]
fn typo(noteid: u64) -> String {
    noteid.to_string()
}

#[resource("note://{number}")]
fn renamed(#[arg(rename = "id")] number: u64) -> String {
    number.to_string()
}

fn main() {
    let _ = resources![note, typo, renamed];
}
