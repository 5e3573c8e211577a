//! The channels of streams that somebody reads here: subscribed to while they do, and again on a new connection.

use std::collections::HashSet;

use mcp_runtime::store::EventHints;
use redis::RedisResult;
use redis::aio::MultiplexedConnection;

/// The subscriptions of the connection with this number.
#[derive(Default)]
pub(super) struct Subscriptions {
    connection: u64,
    channels: HashSet<String>,
}

impl Subscriptions {
    /// Subscribes to what is watched, and unsubscribes from the rest.
    pub(super) async fn adjust(
        &mut self,
        hints: &EventHints,
        redis: &mut MultiplexedConnection,
        connection: u64,
    ) -> RedisResult<()> {
        if connection != self.connection {
            // A new connection has none.
            *self = Subscriptions { connection, channels: HashSet::new() };
        }
        let watched: HashSet<String> = hints.watched().into_iter().collect();
        let missing: Vec<String> = watched.difference(&self.channels).cloned().collect();
        let spare: Vec<String> = self.channels.difference(&watched).cloned().collect();
        if !missing.is_empty() {
            redis.subscribe(&missing).await?;
            // What was appended before is not announced any more.
            for channel in &missing {
                hints.tell(channel);
            }
            self.channels.extend(missing);
        }
        if !spare.is_empty() {
            redis.unsubscribe(&spare).await?;
            self.channels = watched;
        }
        Ok(())
    }
}
