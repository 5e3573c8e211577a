//! `notes` keeps its notes where `--db FILE` says, else `NOTES_DB`, else in `notes.db` in the home directory. Not in the
//! current directory, which depends on the client that starts the server. With `REDIS_URL`, it is a replica: what it shares
//! with the others, besides the database, is there.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mcp_redis::Redis;
use mcp_runtime::prelude::*;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    // The server's own option comes first; the rest is the command line that every server has.
    let named = (arguments.len() > 1 && arguments[0] == "--db").then(|| arguments.drain(..2).nth(1)).flatten();
    let at_home = || env::home_dir().map(|home| home.join("notes.db"));
    let Some(path) = named.or_else(|| env::var_os("NOTES_DB")).map(PathBuf::from).or_else(at_home) else {
        eprintln!("say where to keep the notes: `notes --db /path/to/notes.db`, or set NOTES_DB");
        return ExitCode::FAILURE;
    };
    match replica(&path).await {
        Ok(server) => server.run_with(arguments).await,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn replica(database: &Path) -> Result<Server> {
    let server = notes::server(database)?;
    Ok(match env::var("REDIS_URL") {
        Ok(url) => server.backend(Redis::builder(&url).prefix("notes").connect().await?),
        Err(_) => server,
    })
}
