//! Row 29: a fixed URI with arguments, no URI, no scheme.
use mcp_runtime::prelude::*;

#[resource("docs://manual")]
fn fixed(page: u32) -> String {
    page.to_string()
}

#[resource]
fn nowhere() -> String {
    String::new()
}

#[resource(mime = "text/plain")]
fn no_uri(id: u64) -> String {
    id.to_string()
}

#[resource("notes/all")]
fn no_scheme() -> String {
    String::new()
}

#[resource("{scheme}://all")]
fn any_scheme(scheme: String) -> String {
    scheme
}

#[resource("")]
fn empty() -> String {
    String::new()
}

fn main() {
    let _ = resources![fixed, nowhere, no_uri, no_scheme, any_scheme, empty];
}
