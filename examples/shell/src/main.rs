use std::process::ExitCode;

/// Commands run in the directory the server is started in.
#[tokio::main]
async fn main() -> ExitCode {
    shell::server(shell::allowed(), ".").run().await
}
