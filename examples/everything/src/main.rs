//! `everything` serves on standard input and output, `everything --http 127.0.0.1:8080` over HTTP; `--help` lists the rest.
//! With `REDIS_URL`, it is a replica: what it shares with the others is there. With `REDIS_WAIT=1`, sessions and tasks are
//! written when one replica of Redis has them, too. `SESSION_IDLE` is how many seconds a session may be idle.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use mcp_redis::Redis;
use mcp_runtime::Limits;

/// How long replicas of Redis have to acknowledge a write.
const WAIT: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> ExitCode {
    let mut server = everything::server();
    if let Some(seconds) = env::var("SESSION_IDLE").ok().and_then(|seconds| seconds.parse().ok()) {
        let mut limits = Limits::default();
        limits.session_idle_timeout = Duration::from_secs(seconds);
        server = server.limits(limits);
    }
    if let Ok(url) = env::var("REDIS_URL") {
        let replicas = env::var("REDIS_WAIT").ok().and_then(|replicas| replicas.parse().ok()).unwrap_or(0);
        let builder = Redis::builder(&url).prefix("everything").wait_for_replicas(replicas, WAIT);
        match builder.connect().await {
            Ok(redis) => server = server.backend(redis),
            Err(error) => {
                eprintln!("REDIS_URL: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    server.run().await
}
