use std::env;
use std::path::PathBuf;

use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> Result<()> {
    notes::server(&database()?)?.serve_stdio().await?;
    Ok(())
}

/// The database file: the first argument, else `NOTES_DB`, else `notes.db` in the home directory. Not the
/// current directory, which depends on the client that starts the server.
fn database() -> Result<PathBuf> {
    let named = env::args_os().nth(1).or_else(|| env::var_os("NOTES_DB")).map(PathBuf::from);
    let at_home = || env::home_dir().map(|home| home.join("notes.db"));
    named.or_else(at_home).ok_or("say where to keep the notes: `notes /path/to/notes.db`, or set NOTES_DB".into())
}
