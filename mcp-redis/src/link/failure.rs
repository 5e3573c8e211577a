//! What an error of Redis is to the runtime: an `io::Error` whose kind tells a server that is away from a record that is
//! corrupt, and whose text says what to do.

use std::io;
use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::replicated::Replication;

const CLUSTER_DOWN: &str = "the cluster is down: a primary is away, and no replica has taken over yet, or slots have no node; see \
                            `redis-cli --cluster check`";

const MOVING: &str = "the keys are being moved to another node of the cluster; try again";

/// The errors of one server, by its address.
#[derive(Debug, Clone)]
pub(crate) struct Failures {
    /// Host and port, or the path of a socket. Without the password.
    pub(crate) address: String,
}

impl Failures {
    /// The error of an operation.
    pub(crate) fn of(&self, error: &RedisError) -> io::Error {
        let (kind, advice) = match error.kind() {
            _ if error.is_timeout() => (io::ErrorKind::TimedOut, "it does not answer in time; is it overloaded?"),
            ErrorKind::Io => {
                return self.error(io_kind(error), &format!("{error}; is it running? Start it, or correct the URL"));
            }
            ErrorKind::AuthenticationFailed => (
                io::ErrorKind::PermissionDenied,
                "it rejects the password; correct the URL: `redis://user:password@host/`",
            ),
            ErrorKind::RESP3NotSupported => (io::ErrorKind::Unsupported, "it is too old; install Redis 6.2 or newer"),
            ErrorKind::Parse => (
                io::ErrorKind::Unsupported,
                "what answers there is not Redis; correct the URL (`rediss://` for TLS, with the feature `tls`)",
            ),
            // A script came to a key that is not there any more.
            ErrorKind::Server(_) if error.to_string().contains("non local key") => {
                (io::ErrorKind::ResourceBusy, MOVING)
            }
            ErrorKind::Server(kind) => of_server(kind),
            _ => of_code(error.code().unwrap_or_default()),
        };
        let text = error.to_string();
        self.error(kind, &if advice.is_empty() { text } else { format!("{advice} ({text})") })
    }

    /// The error of an operation while the connection is lost.
    pub(crate) fn away(&self, reason: &str) -> io::Error {
        self.error(io::ErrorKind::NotConnected, &format!("the connection is lost and will be made again: {reason}"))
    }

    /// The error of a server that does not answer.
    pub(crate) fn timed_out(&self, limit: Duration) -> io::Error {
        self.error(
            io::ErrorKind::TimedOut,
            &format!("it did not answer within {limit:?}; is it Redis, running, not overloaded, and the URL correct?"),
        )
    }

    /// The error of a write that the primary has made, and too few replicas have.
    pub(crate) fn too_few(&self, count: u32, wanted: Replication) -> io::Error {
        let Replication { replicas, timeout } = wanted;
        let text = format!(
            "{count} of {replicas} replicas have a write after {timeout:?}, and it may be lost in a failover; start the \
             others, or let `wait_for_replicas` ask for fewer"
        );
        self.error(io::ErrorKind::TimedOut, &text)
    }

    /// The error of a node that cannot serve, because others are away.
    pub(crate) fn cluster_down(&self) -> io::Error {
        self.error(io::ErrorKind::NotConnected, CLUSTER_DOWN)
    }

    pub(crate) fn error(&self, kind: io::ErrorKind, text: &str) -> io::Error {
        io::Error::new(kind, format!("Redis at {}: {text}", self.address))
    }
}

fn of_server(kind: ServerErrorKind) -> (io::ErrorKind, &'static str) {
    match kind {
        ServerErrorKind::BusyLoading => (io::ErrorKind::ResourceBusy, "it is starting; try again"),
        ServerErrorKind::TryAgain => (io::ErrorKind::ResourceBusy, MOVING),
        ServerErrorKind::ClusterDown => (io::ErrorKind::NotConnected, CLUSTER_DOWN),
        ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown => {
            (io::ErrorKind::NotConnected, "it is a replica, which cannot be written; connect to the primary")
        }
        ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::CrossSlot => (
            io::ErrorKind::Unsupported,
            "it is a node of a cluster; connect to all of it: `redis+cluster://host:port,host:port/`",
        ),
        ServerErrorKind::NoPerm => (
            io::ErrorKind::PermissionDenied,
            "the user lacks a permission; with the prefix `mcp`, it needs `~mcp:* resetchannels &mcp:* \
             +@all -@admin -@dangerous +info`",
        ),
        _ => (io::ErrorKind::Other, ""),
    }
}

fn of_code(code: &str) -> (io::ErrorKind, &'static str) {
    match code {
        "NOAUTH" | "WRONGPASS" => (
            io::ErrorKind::PermissionDenied,
            "it requires a password, or another one; correct the URL: `redis://user:password@host/`",
        ),
        "OOM" => (io::ErrorKind::StorageFull, "it is out of memory; raise its `maxmemory`"),
        "BUSY" => (io::ErrorKind::ResourceBusy, "it is busy with a script; try again"),
        "MISCONF" => (io::ErrorKind::ReadOnlyFilesystem, "it cannot persist, and rejects writes; see its log"),
        _ => (io::ErrorKind::Other, ""),
    }
}

/// The kind of an I/O error. The client does not tell it, but for a few.
fn io_kind(error: &RedisError) -> io::ErrorKind {
    let inner = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    match inner {
        Some(inner) => inner.kind(),
        None if error.is_connection_refusal() => io::ErrorKind::ConnectionRefused,
        None => io::ErrorKind::NotConnected,
    }
}

/// The first error of a transaction or pipeline; any other error is itself.
pub(crate) fn first(error: RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    errors.and_then(|errors| errors.first().map(|(_, first)| first.clone().into())).unwrap_or(error)
}

/// Whether the connection is of no use any more: it is broken, or leads to a server that cannot be written.
pub(crate) fn breaks_connection(error: &RedisError) -> bool {
    let moved = matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading)
    );
    moved || (error.kind() == ErrorKind::Io && !error.is_timeout()) || error.kind() == ErrorKind::Parse
}
