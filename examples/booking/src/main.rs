use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    booking::server().run().await
}
