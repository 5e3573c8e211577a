//! Secrets that replicas have agreed on, kept for a server that forgets them: they are proposed again on every connection, so
//! that replicas that start after it came back empty agree with those that run.

use std::sync::{Mutex, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

use crate::script;

/// The most secrets that are kept. A server has one.
const MOST: usize = 16;

/// Keys, and what is stored there.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(String, Vec<u8>)>>);

impl Kept {
    pub(crate) fn add(&self, key: &str, agreed: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST && !kept.iter().any(|(known, _)| known == key) {
            kept.push((key.to_owned(), agreed.to_vec()));
        }
    }

    /// Proposes all of them on a new connection, before anybody uses it. In a cluster, it is one of the nodes that takes a
    /// secret; one that came back fails until it has found the others, and must not be used before it has been told.
    pub(super) async fn propose(&self, redis: &mut MultiplexedConnection) -> RedisResult<()> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (key, value) in kept {
            let mut agree = script::SECRET.key(&key);
            agree.arg(&value);
            match agree.command().query_async::<Vec<u8>>(redis).await {
                Ok(agreed) if agreed != value => {
                    tracing::warn!(
                        "other replicas have another secret, since Redis lost this one; restart this replica"
                    );
                }
                Err(error) if is_cluster_down(&error) => return Err(error),
                // If it fails, the next operation does, too, and says why.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether no slot is served. If it is only the slot of the key, that is another node's.
fn is_cluster_down(error: &RedisError) -> bool {
    let is_down = error.kind() == ErrorKind::Server(ServerErrorKind::ClusterDown);
    is_down && !error.detail().is_some_and(|detail| detail.contains("not served"))
}
