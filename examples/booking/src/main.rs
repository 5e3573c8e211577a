//! With `REDIS_URL`, it is a replica: what it shares with the others is there.

use std::env;
use std::process::ExitCode;

use mcp_redis::Redis;

#[tokio::main]
async fn main() -> ExitCode {
    let mut server = booking::server();
    if let Ok(url) = env::var("REDIS_URL") {
        match Redis::builder(&url).prefix("booking").connect().await {
            Ok(redis) => server = server.backend(redis),
            Err(error) => {
                eprintln!("REDIS_URL: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    server.run().await
}
