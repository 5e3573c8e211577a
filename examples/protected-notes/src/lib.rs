//! Notes per user: an MCP server that asks for a token with every request.
//!
//! - `store`: the notes of all users, in memory, bounded.
//! - `note_id`: what a note is called.
//! - `notebook`: the handlers, each with the scopes its callers need.

mod note_id;
mod notebook;
mod store;

use mcp_runtime::auth::Auth;
use mcp_runtime::prelude::*;

use crate::notebook::Notebook;

/// What every call needs. `notes:write`, for some, is said where they are: in `notebook`.
const READ: &str = "notes:read";
const WRITE: &str = "notes:write";

/// The server, for callers whose tokens are verified as `auth` says.
pub fn server(auth: Auth) -> Server {
    Server::new("protected-notes", env!("CARGO_PKG_VERSION"))
        .title("Protected notes")
        .instructions("Each user has notes of their own. `list_notes` shows them; a note is also read at note://{id}.")
        .authorize(auth)
        .mount(Notebook::default())
}

/// Tokens of this issuer, for the server that clients know as `resource`.
pub fn remote(issuer: &str, resource: &str) -> Auth {
    Auth::jwt(issuer).resource(resource).scopes([READ]).resource_name("Protected notes")
}

/// No tokens: the caller has started the server.
pub fn local() -> Auth {
    Auth::local([READ, WRITE]).scopes([READ])
}
