//! `everything` serves on standard input and output, `everything --http 127.0.0.1:8080` over HTTP; `--help` lists the rest.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    everything::server().run().await
}
