//! The bounds that keep one peer from exhausting the server.

use std::time::Duration;

/// What a server puts up with. The defaults suit a server on a person's machine.
///
/// ```
/// use mcp_runtime::{Limits, Server};
///
/// let mut limits = Limits::default();
/// limits.message_bytes = 64 * 1024 * 1024;
/// let server = Server::new("pictures", "1.0.0").limits(limits);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message, in bytes; a longer one is refused and skipped. 4 MiB. Calls that wait
    /// keep their arguments, so `in_flight` times this is what one client can occupy.
    pub message_bytes: usize,
    /// How many objects and lists of a message may be inside each other; one that is nested deeper
    /// is refused. 128; more than that `serde_json` does not decode into types anyway.
    pub depth: usize,
    /// How many calls of one client may be waiting for something at a time, and how many blocking
    /// handlers may run; more are refused until one has finished. 256. A client is a connection, a
    /// session, or over HTTP without a session whoever the `principal` hook names; callers it does
    /// not name have only `requests` in common.
    pub in_flight: usize,
    /// How many messages a batch may have, in revisions with batches. 100.
    pub batch: usize,
    /// How many messages in a row may be no JSON-RPC before the connection is ended. As many as there
    /// are: each is answered.
    pub consecutive_errors: usize,
    /// How many log messages of one call reach its client in a second; the rest are dropped. 1000.
    pub log_rate: u32,
    /// How many streams of changes one client may have open. 16. Who a client is, is said at
    /// `in_flight`.
    pub streams: usize,
    /// How many resources one session or stream may subscribe to. 256.
    pub subscriptions: usize,
    /// How many questions one call may ask its client. 64.
    pub asks_per_call: usize,
    /// How long a client may take to answer a question, or to come back with the answers. 10 minutes.
    pub answer_timeout: Duration,
    /// How many bytes a call may have its client keep between rounds of questions. 64 KiB.
    pub state_bytes: usize,
    /// How many tasks there may be, running or kept for who comes for their results. 1000.
    pub tasks: usize,
    /// How many tasks one principal may have. 100.
    pub tasks_per_principal: usize,
    /// How long a task runs at most, and is kept, counted from its beginning. An hour.
    pub task_ttl: Duration,
    /// Over HTTP: how many requests may be served at a time; more are answered 503. 1024. An open
    /// stream is one of them; streams of changes have at most three quarters, so that calls have room.
    pub requests: usize,
    /// Over HTTP: how many connections a listener of the server's own may have. 2048. When they are
    /// all taken, those nobody is using are closed, and new ones wait for a place. Keep it above
    /// `requests`, so that whoever is one too many can be told so.
    pub connections: usize,
    /// Over HTTP: how many bytes of long messages may be in memory, of all clients together; what
    /// would be more is answered 503. 64 MiB, or `message_bytes` if that is more. Messages up to
    /// 64 KiB are not counted: they are always taken.
    pub body_bytes: usize,
    /// Over HTTP: how many sessions there may be. 1000.
    pub sessions: usize,
    /// Over HTTP: how many sessions one principal may have. 100.
    pub sessions_per_principal: usize,
    /// Over HTTP: how long a session lives that is not used. 30 minutes.
    pub session_idle_timeout: Duration,
    /// Over HTTP: how long any session lives. A day.
    pub session_lifetime: Duration,
    /// Over HTTP: how long a client may take to send a request. 30 seconds.
    pub request_timeout: Duration,
    /// Over HTTP, on a listener of the server's own: how long nothing may be written to a client that
    /// does not read, before its connection is closed. A minute.
    pub write_timeout: Duration,
    /// Over HTTP: how many bytes of events one session keeps for a client that was cut off and comes
    /// back. A stream keeps up to 256 events and 1 MiB, as long as they all fit in here, and in any case
    /// its newest. 4 MiB.
    pub event_bytes: usize,
    /// How long a store of sessions, events or tasks may take; what needs it fails then.
    /// 5 seconds.
    pub store_timeout: Duration,
    /// How long calls may go on when the connection ends. 5 seconds.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes: 4 * 1024 * 1024,
            depth: 128,
            in_flight: 256,
            batch: 100,
            consecutive_errors: usize::MAX,
            log_rate: 1000,
            streams: 16,
            subscriptions: 256,
            asks_per_call: 64,
            answer_timeout: Duration::from_mins(10),
            state_bytes: 64 * 1024,
            tasks: 1000,
            tasks_per_principal: 100,
            task_ttl: Duration::from_hours(1),
            requests: 1024,
            connections: 2048,
            body_bytes: 64 * 1024 * 1024,
            sessions: 1000,
            sessions_per_principal: 100,
            session_idle_timeout: Duration::from_mins(30),
            session_lifetime: Duration::from_hours(24),
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_mins(1),
            event_bytes: 4 * 1024 * 1024,
            store_timeout: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_limit() {
        let table = include_str!("../docs/limits.md");
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name);
        let all = format!("{:#?}", Limits::default());
        let fields = all.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(':')).map(|(name, _)| name);
        assert_eq!(rows.collect::<Vec<_>>(), fields.collect::<Vec<_>>());
    }
}
