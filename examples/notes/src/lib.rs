//! A notebook in SQLite, as an MCP server.
//!
//! - `store`: the database. Blocking; of MCP it uses only the error type.
//! - `db`: runs the store on its own thread, for handlers to await.
//! - `notebook`: the handlers.

mod db;
mod notebook;
mod store;

use std::path::Path;

use mcp_runtime::prelude::*;
use serde::Serialize;

use crate::db::Db;
use crate::notebook::Notebook;

/// The settings of this notebook.
#[derive(Serialize, Resource)]
#[resource(uri = "config://notes", title = "Settings")]
struct Settings {
    /// The database file.
    database: String,
    sqlite: &'static str,
    /// The maximum number of search results, whatever the requested limit.
    most_hits: u32,
}

/// A server for the notebook in this file, which is created if missing. `:memory:` is a notebook that lives
/// as long as the server.
pub fn server(database: &Path) -> Result<Server> {
    let settings =
        Settings { database: database.display().to_string(), sqlite: rusqlite::version(), most_hits: store::MOST_HITS };
    Ok(Server::new("notes", env!("CARGO_PKG_VERSION"))
        .title("Notebook")
        .instructions("Search before you create. A note is read at note://{id}; notes://index lists all of them.")
        .resource(settings)
        .mount(Notebook { db: Db::open(database)? }))
}
