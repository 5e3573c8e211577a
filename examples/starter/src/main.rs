//! The binary: serves the client that starts it, and is a command line for people.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    starter::server().run().await
}
