//! With `REDIS_URL`: sessions, and streamed responses (`InvokeMode: RESPONSE_STREAM` of the function URL). Without: every
//! request by itself, and buffered responses; `STATE_SECRET` has the output of `openssl rand -base64 32`.

use std::env;

use mcp_redis::Redis;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    match env::var("REDIS_URL") {
        Ok(url) => {
            let redis = Redis::builder(&url).prefix("converter").connect().await?;
            lambda_http::run_with_streaming_response(lambda::with_sessions(redis)).await
        }
        Err(_) => {
            let secret = env::var("STATE_SECRET").map_err(|_| "set STATE_SECRET, or REDIS_URL")?;
            lambda_http::run(lambda::alone(&secret)).await
        }
    }
}
