//! The program of `mcp-runtime/docs/cli.md`: a server with options and a command of its own, which clap reads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mcp_runtime::prelude::*;

#[derive(Parser)]
struct Options {
    /// The database.
    #[arg(long, default_value = "notes.db")]
    db: PathBuf,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// A command of the program itself.
    Vacuum,
    /// Everything else is the server's.
    #[command(external_subcommand)]
    Mcp(Vec<OsString>),
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let arguments = match options.command {
        Some(Command::Vacuum) => return vacuum(&options.db),
        Some(Command::Mcp(arguments)) => arguments,
        None => Vec::new(),
    };
    server(options.db).run_with(arguments).await
}

fn server(db: PathBuf) -> Server {
    Server::new("notes", "1.0.0").mount(Notes { db })
}

struct Notes {
    db: PathBuf,
}

#[handlers]
impl Notes {
    /// The file with the notes.
    #[tool(read_only)]
    fn database(&self) -> String {
        self.db.display().to_string()
    }
}

fn vacuum(db: &std::path::Path) -> ExitCode {
    eprintln!("vacuumed {}", db.display());
    ExitCode::SUCCESS
}
