//! Resource limits: bounds that keep one client from exhausting the server.

use std::time::Duration;

/// What rate limits remember of a caller, at most: a hash table doubles its room.
pub(crate) const CALLER_BYTES: usize = 40;

/// The resource limits of a server, set with [`Server::limits`](crate::Server::limits).
///
/// The defaults suit a server on a developer's machine as well as a small public one. An error caused
/// by a limit tells the client what to do next. Over HTTP, 429 means that the caller's own quota is
/// exhausted or a rate limit is reached, even one of [all callers](crate::RateLimit::global) together, and 503
/// that the whole server, or a handler with `max_concurrent`, has no room; both come with `Retry-After`.
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
    /// The size of a message in bytes. Default: 4 MiB. A longer message is skipped and answered with
    /// error `-32600`, over HTTP with 413. Pending calls keep their arguments in memory, so one client
    /// can occupy up to `in_flight` times this.
    pub message_bytes: usize,
    /// The nesting depth of a message: objects and arrays inside each other. Default: 128, the depth
    /// up to which `serde_json` deserializes. A deeper message is answered with error `-32600`.
    pub depth: usize,
    /// The pending calls of one client, and the blocking handlers that run at the same time.
    /// Default: 256. A call beyond it is rejected before it runs, with error `-32000`, over HTTP with
    /// 429; one for which only the thread is missing, with 503.
    ///
    /// One client is one connection or one session; over HTTP without a session it is one principal,
    /// as named by the `principal` hook. Anonymous callers have no quota of their own: they share
    /// `requests`. The handler of a [notification](crate::Server::notification) counts as a call; in a
    /// session, a notification beyond it is dropped.
    pub in_flight: usize,
    /// The messages in a batch, in the revision that has batches. Default: 100. A longer batch is
    /// rejected as a whole with error `-32600`.
    pub batch: usize,
    /// Closes the connection after this many consecutive malformed messages. Default: no limit; each
    /// is answered with an error.
    pub consecutive_errors: usize,
    /// The log messages per second that one call sends to its client. Default: 1000. Messages beyond
    /// it are dropped.
    pub log_rate: u32,
    /// The callers whose requests rate limits count: those who are authenticated, and as many addresses of those who are
    /// not, each once for every limit that counts callers. Default: 65,536, at least 256. Beyond it, those are forgotten who
    /// have used least.
    pub rate_callers: usize,
    /// How long a call may be silent whose client has asked for progress. Default: 15 seconds. Then the server reports a
    /// little progress in the handler's stead, again and again, so that the client does not give up. A handler's own
    /// [reports](crate::Context::progress) put it off; `#[tool(heartbeat = "10s")]` sets another time. `None`: never. At
    /// least a second.
    pub heartbeat: Option<Duration>,
    /// The open subscription streams (`subscriptions/listen`) of one client. Default: 16. A stream
    /// beyond it is rejected with error `-32000`, over HTTP with 429. See `in_flight` for what counts
    /// as one client.
    pub streams: usize,
    /// The resources one session or stream subscribes to. Default: 256. A subscription beyond it is
    /// rejected with error `-32603`.
    pub subscriptions: usize,
    /// The questions one call asks its client. Default: 64. The handler gets
    /// [`AskError::Misused`](crate::ask::AskError::Misused) for a question beyond it.
    pub asks_per_call: usize,
    /// How long a client may take to answer a question, or to retry a call with the answers.
    /// Default: 10 minutes. After that the handler gets
    /// [`AskError::TimedOut`](crate::ask::AskError::TimedOut); a late retry gets error `-32602`.
    /// [`Ask::timeout`](crate::ask::Ask::timeout) sets another time for one question.
    pub answer_timeout: Duration,
    /// The state a call may have its client carry between rounds of questions, in bytes.
    /// Default: 64 KiB. A call that needs more fails.
    pub state_bytes: usize,
    /// The tasks of all clients, running or finished and not yet expired. Default: 1000. At the limit, a
    /// finished task is evicted: one whose result was fetched if there is one, and of the caller with the
    /// most tasks. If all tasks are running, a call whose task is optional runs as an ordinary call; a
    /// call that needs its task is answered with error `-32603`.
    pub tasks: usize,
    /// The tasks of one principal, running or finished and not yet expired. Default: 100. At the limit,
    /// a finished task of the same principal is evicted; otherwise as for `tasks`. Over HTTP, anonymous
    /// callers with the same address are one principal here: the same IPv4 address, or the same 64 bits of
    /// an IPv6 address. Over stdio only `tasks` applies.
    pub tasks_per_principal: usize,
    /// The longest time to live of a task, from its creation. Default: 1 hour. A task that is still
    /// running then is stopped; the task and its result are removed. A client that requests less than a
    /// second gets a second.
    pub task_ttl: Duration,
    /// Over HTTP: the requests served at the same time, open streams included, and handlers of
    /// notifications without a session until they end. Default: 1024. A request beyond it is answered
    /// 503. Subscription streams get at most three quarters, so that calls always have room.
    pub requests: usize,
    /// Over HTTP: the connections of the server's own listener. Default: 2048, or what the process may open
    /// (`ulimit -n`, less an eighth). At the limit new connections wait; meanwhile those are closed that have
    /// not sent a request for a second, and then those that have been idle longest. Keep it above `requests`, so
    /// that a client beyond that limit can be told so.
    pub connections: usize,
    /// The memory for what is long and stays, of all clients, in bytes: messages while they arrive and while
    /// their calls run, responses until they are read, events for replay, tasks. Default: 96 MiB, but at least
    /// twice `message_bytes`. When half of it is used, one principal or peer gets a quarter at most. A message
    /// beyond it is answered 503. What is up to 16 KiB long does not count.
    pub memory_bytes: usize,
    /// Over HTTP, on the server's own listener: the size of a request's head, in bytes. Default: 32 KiB, at
    /// least 8 KiB. A longer one is answered 431.
    pub head_bytes: usize,
    /// Over HTTP: the sessions of all clients. Default: 1000. At the limit an idle session is evicted;
    /// if there is none, `initialize` is answered 503.
    pub sessions: usize,
    /// Over HTTP: the sessions of one principal. Default: 100. At the limit `initialize` is answered
    /// 429.
    pub sessions_per_principal: usize,
    /// Over HTTP: closes a session that has been idle for this long. Default: 30 minutes. The next
    /// request of the client is answered 404, and it initializes again.
    pub session_idle_timeout: Duration,
    /// Over HTTP: closes a session this long after it was opened, idle or not. Default: 24 hours. The
    /// next request of the client is answered 404, and it initializes again.
    pub session_lifetime: Duration,
    /// Over HTTP: how long a client may take to send a request. Default: 30 seconds. After that the
    /// request is answered 408, or its connection is closed.
    pub request_timeout: Duration,
    /// Over HTTP, on the server's own listener: closes a connection whose client has read nothing for
    /// this long while there was something to write. Default: 1 minute.
    pub write_timeout: Duration,
    /// Over HTTP: the events one session keeps for replay after a disconnect, in bytes. Default: 4 MiB.
    /// Beyond it the oldest events are dropped, and a client that needs them cannot resume. Each stream
    /// keeps up to 256 events and 1 MiB, and in any case its newest event.
    pub event_bytes: usize,
    /// How long an operation of a [store](crate::store) may take. Default: 5 seconds. After that the
    /// request that needs it fails, over HTTP with 503.
    pub store_timeout: Duration,
    /// Over HTTP, with a `Backend`: how long a replica may be silent before others take it for dead. Default: 10 seconds. A
    /// replica renews its lease three times as often. Clients that resume the stream of a call whose replica has died
    /// get an error, and its place as the holder of a session's stream is free.
    pub replica_lease: Duration,
    /// Over HTTP, with a `Backend`: how many replicas may die while they run a durable task. Default: 5. Then the task
    /// fails: its handler is taken for the reason.
    pub task_attempts: u32,
    /// How long pending calls may take to finish during a graceful shutdown. Default: 5 seconds. Calls
    /// that are still running then are dropped, and their clients get an error.
    pub drain_timeout: Duration,
    /// On stdio: how long pending calls may take to finish after the client has closed its end.
    /// Default: 1.5 seconds, since clients kill a server that takes two. Calls that are still running
    /// then get an error, and the process ends.
    pub eof_timeout: Duration,
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
            rate_callers: 65_536,
            heartbeat: Some(Duration::from_secs(15)),
            streams: 16,
            subscriptions: 256,
            asks_per_call: 64,
            answer_timeout: Duration::from_secs(10 * 60),
            state_bytes: 64 * 1024,
            tasks: 1000,
            tasks_per_principal: 100,
            task_ttl: Duration::from_secs(60 * 60),
            requests: 1024,
            connections: 2048,
            memory_bytes: 96 * 1024 * 1024,
            head_bytes: 32 * 1024,
            sessions: 1000,
            sessions_per_principal: 100,
            session_idle_timeout: Duration::from_secs(30 * 60),
            session_lifetime: Duration::from_secs(24 * 60 * 60),
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            event_bytes: 4 * 1024 * 1024,
            store_timeout: Duration::from_secs(5),
            replica_lease: Duration::from_secs(10),
            task_attempts: 5,
            drain_timeout: Duration::from_secs(5),
            eof_timeout: Duration::from_millis(1500),
        }
    }
}

impl Limits {
    /// For a small container: a worst case of about 64 MiB, instead of about 370 MiB by default. Messages may have 1 MiB.
    pub fn small() -> Self {
        Limits {
            message_bytes: 1024 * 1024,
            in_flight: 64,
            rate_callers: 16_384,
            subscriptions: 64,
            tasks: 100,
            tasks_per_principal: 20,
            requests: 128,
            connections: 256,
            memory_bytes: 12 * 1024 * 1024,
            head_bytes: 16 * 1024,
            sessions: 100,
            sessions_per_principal: 20,
            event_bytes: 1024 * 1024,
            ..Limits::default()
        }
    }

    /// For a public server on a machine of its own: a worst case of about 3.7 GiB. Raise the process's limit of open
    /// files, too.
    pub fn large() -> Self {
        Limits {
            in_flight: 1024,
            tasks: 20_000,
            tasks_per_principal: 1000,
            requests: 8192,
            connections: 16_384,
            memory_bytes: 1024 * 1024 * 1024,
            sessions: 20_000,
            sessions_per_principal: 1000,
            ..Limits::default()
        }
    }

    /// The memory that a server over HTTP keeps for its clients if every one of these limits is reached at the same time,
    /// in bytes. What handlers allocate themselves comes on top.
    ///
    /// ```
    /// use mcp_runtime::Limits;
    ///
    /// assert!(Limits::small().worst_case_bytes() < 64 * 1024 * 1024);
    /// ```
    pub fn worst_case_bytes(&self) -> usize {
        const KIB: usize = 1024;
        let parts = [
            (1, self.memory_bytes.max(self.message_bytes.saturating_mul(2))),
            // The buffers of a connection: a head, and what is being written.
            (self.connections, self.head_bytes.saturating_add(16 * KIB)),
            // What is short is not charged: a message, its decoded copy, its answer.
            (self.requests, 48 * KIB),
            // A greeting, events and a filter, each as long as it may be without a charge; and the session itself.
            (self.sessions, 66 * KIB),
            // The arguments of a task; all results together.
            (self.tasks, 16 * KIB),
            (1, self.tasks.saturating_mul(256 * KIB).min(32 * KIB * KIB)),
            // The results of `once` blocks.
            (1, self.requests.saturating_mul(16 * KIB).min(16 * KIB * KIB)),
            // What callers have used of rate limits: those who are authenticated, and those who are not.
            (self.rate_callers.max(256), 2 * CALLER_BYTES),
        ];
        parts.iter().fold(0, |sum, (count, bytes)| sum.saturating_add(count.saturating_mul(*bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_table_lists_every_field() {
        let page = include_str!("../docs/limits.md");
        let (table, _) = page.split_once("## Worst-case memory").unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name);
        let all = format!("{:#?}", Limits::default());
        let fields = all.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(':')).map(|(name, _)| name);
        assert_eq!(rows.collect::<Vec<_>>(), fields.collect::<Vec<_>>());
    }

    #[test]
    fn page_has_the_worst_cases() {
        let page = include_str!("../docs/limits.md");
        for (name, limits) in [("small", Limits::small()), ("default", Limits::default()), ("large", Limits::large())] {
            let mib = limits.worst_case_bytes() / (1024 * 1024);
            assert!(page.contains(&format!("| `Limits::{name}()` | {mib} MiB |")), "`Limits::{name}()`: {mib} MiB");
        }
    }
}
