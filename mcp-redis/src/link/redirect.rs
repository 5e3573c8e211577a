//! Where a node of a cluster sends a request that is not for it.
//! <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding>

use std::io;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::endpoint::seeds::Address;

/// What a node says about a request that it did not run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// Another node has the slot. Without a host, it is at the one that said so.
    Moved(Option<String>, u16),
    /// Another node has this key already, while the slot is being moved.
    Ask(Option<String>, u16),
    /// Some of the keys have been moved, and others not.
    TryAgain,
    /// The node thinks that the cluster is down, or its slots are not served.
    Down,
}

/// An error, and where to go instead.
pub(crate) struct Refused {
    pub(crate) error: io::Error,
    pub(crate) redirect: Option<Redirect>,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused { error, redirect: None }
    }
}

impl Redirect {
    pub(super) fn of(error: &RedisError) -> Option<Self> {
        let ErrorKind::Server(kind) = error.kind() else { return None };
        let target = || error.redirect_node().and_then(|(node, _)| Address::split(node));
        match kind {
            ServerErrorKind::Moved => target().map(|(host, port)| Redirect::Moved(host, port)),
            ServerErrorKind::Ask => target().map(|(host, port)| Redirect::Ask(host, port)),
            ServerErrorKind::TryAgain => Some(Redirect::TryAgain),
            ServerErrorKind::ClusterDown => Some(Redirect::Down),
            _ => None,
        }
    }
}
