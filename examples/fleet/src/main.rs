//! `fleet-demo --http 127.0.0.1:8080` serves over HTTP; `--help` lists the rest. With `REDIS_URL`, it is a replica: what it
//! shares with the others is there. `REPLICA` is its name; containers have one in `HOSTNAME`.

use std::env;
use std::process::ExitCode;

use mcp_redis::Redis;

#[tokio::main]
async fn main() -> ExitCode {
    let name = env::var("REPLICA").or_else(|_| env::var("HOSTNAME")).unwrap_or_else(|_| "one".to_owned());
    let mut server = fleet_demo::server(name);
    if let Ok(url) = env::var("REDIS_URL") {
        match Redis::builder(&url).prefix("print-shop").connect().await {
            Ok(redis) => server = server.backend(redis),
            Err(error) => {
                eprintln!("REDIS_URL: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    server.run().await
}
