//! The end of a shutdown that does not wait any longer: calls that still run are answered with an error, and observers are
//! told of them before the server returns.

use std::time::Duration;

use crate::error::PAGE;
use crate::transport::http::Service;

/// How long clients have to read their last answers.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The same, if the server is to stop at once.
const ABORTED: Duration = Duration::from_millis(200);

impl Service {
    /// Ends the calls that still run `after` this time, or at once. Waits until their answers are sent and all is `closed`,
    /// for a moment.
    pub(in crate::transport::http) async fn give_up(&self, after: Option<Duration>, closed: impl Future) {
        let overdue = &self.core.shared.overdue;
        overdue.give_up();
        let sent = async {
            self.sessions.idle().await;
            self.sse.end_all().await;
            closed.await;
        };
        let _ = tokio::time::timeout(if after.is_some() { LAST_WORDS } else { ABORTED }, sent).await;
        let calls = overdue.take_calls();
        if calls > 0 {
            let (after, change) = (after.map(tracing::field::debug), after.map(|_| "`Limits::drain_timeout`"));
            tracing::warn!(
                calls,
                after,
                change,
                "calls dropped: the shutdown did not wait for them; see {PAGE}#calls-cut-off-at-the-end"
            );
        }
    }
}
