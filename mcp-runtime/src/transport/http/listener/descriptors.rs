//! The descriptors of the process: a connection is one, and the process has a limit of its own.

use crate::error::PAGE;

/// The part of the descriptors that is left to the rest of the program: files, databases, connections of handlers.
#[cfg(unix)]
const RESERVED_PART: u64 = 8;

/// As many connections as are wanted and the process has descriptors for.
pub(super) fn within(connections: usize) -> usize {
    let Some(most) = limit() else { return connections };
    if most < connections {
        tracing::warn!(
            connections = most,
            "the process may open too few files for `Limits::connections`; raise `ulimit -n`, or lower the limit; \
             see {PAGE}#too-few-files"
        );
    }
    connections.min(most)
}

/// The connections that the process has descriptors for; `None` if there is no limit.
#[cfg(unix)]
fn limit() -> Option<usize> {
    let open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(open - open / RESERVED_PART).ok()
}

#[cfg(not(unix))]
fn limit() -> Option<usize> {
    None
}
