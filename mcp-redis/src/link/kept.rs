//! Secrets that replicas have agreed on, kept for a server that forgets them: they are proposed again on every connection, so
//! that replicas that start after it came back empty agree with those that run.

use std::sync::{Mutex, PoisonError};

use redis::aio::MultiplexedConnection;

use crate::script;

/// The most secrets that are kept. A server has one.
const MOST: usize = 16;

/// Keys, and what is stored there.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<(String, Vec<u8>)>>);

impl Kept {
    pub(super) fn add(&self, key: &str, agreed: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST && !kept.iter().any(|(known, _)| known == key) {
            kept.push((key.to_owned(), agreed.to_vec()));
        }
    }

    /// Proposes all of them on a new connection, before anybody uses it.
    pub(super) async fn propose(&self, redis: &mut MultiplexedConnection) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (key, value) in kept {
            let mut agree = script::SECRET.key(&key);
            agree.arg(&value);
            // If it fails, the next operation does, too, and says why.
            let agreed = agree.command().query_async::<Vec<u8>>(redis).await;
            if agreed.is_ok_and(|agreed| agreed != value) {
                tracing::warn!("other replicas have another secret, since Redis lost this one; restart this replica");
            }
        }
    }
}
