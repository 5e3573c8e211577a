//! `everything` serves on standard input and output, `everything --http 127.0.0.1:8080` over HTTP; `--help` lists the rest.
//! With `REDIS_URL`, it is a replica: what it shares with the others is there.

use std::env;
use std::process::ExitCode;

use mcp_redis::Redis;

#[tokio::main]
async fn main() -> ExitCode {
    let mut server = everything::server();
    if let Ok(url) = env::var("REDIS_URL") {
        match Redis::builder(&url).prefix("everything").connect().await {
            Ok(redis) => server = server.backend(redis),
            Err(error) => {
                eprintln!("REDIS_URL: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    server.run().await
}
