//! A notebook in SQLite, as an MCP server.
//!
//! - `store`: the notes in their database. Blocking, and knows nothing of MCP but its errors.
//! - `db`: the store's thread, and how handlers reach it.
//! - `notebook`: what clients see, the handlers.

mod db;
mod notebook;
mod store;

use std::path::Path;

use mcp_runtime::prelude::*;
use serde::Serialize;

use crate::db::Db;
use crate::notebook::Notebook;

/// How this notebook is set up.
#[derive(Serialize, Resource)]
#[resource(uri = "config://notes", title = "Settings")]
struct Settings {
    /// The file the notes are kept in.
    database: String,
    sqlite: &'static str,
    /// How many notes a search finds at most, whatever its limit.
    most_hits: u32,
}

/// The server of the notebook in this file, which is made if there is none. `:memory:` is a notebook
/// that is gone when the server is.
pub fn server(database: &Path) -> Result<Server> {
    let settings =
        Settings { database: database.display().to_string(), sqlite: rusqlite::version(), most_hits: store::MOST_HITS };
    Ok(Server::new("notes", env!("CARGO_PKG_VERSION"))
        .title("Notebook")
        .instructions("Search before you create. A note is read at note://{id}; notes://index lists all of them.")
        .resource(settings)
        .mount(Notebook { db: Db::open(database)? }))
}
