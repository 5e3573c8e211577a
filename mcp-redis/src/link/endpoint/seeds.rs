//! The nodes of a cluster that may be asked about it: those of the URL, and those that were found since.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use redis::{Client, RedisResult};
use tokio::task::JoinSet;

use crate::link::failure::Failures;

/// The nodes that are asked at the same time, because one that is away would take the time of the others.
const ASKED: usize = 3;

/// Where a node listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Takes `host:port` apart. A node that does not know its own host leaves it out.
    pub(crate) fn split(text: &str) -> Option<(Option<String>, u16)> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(((!host.is_empty()).then(|| host.to_owned()), port.parse().ok()?))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The nodes of a cluster that may be asked about it.
#[derive(Debug)]
pub(crate) struct Seeds {
    of_url: Vec<Address>,
    found: Mutex<Vec<Address>>,
    /// Counts attempts, so that each begins with another node. Processes begin with different ones.
    turn: AtomicUsize,
}

impl Seeds {
    pub(crate) fn new(of_url: Vec<Address>) -> io::Result<Self> {
        let turn = AtomicUsize::new(u16::from_le_bytes(crate::seal::random()?).into());
        Ok(Seeds { of_url, found: Mutex::default(), turn })
    }

    /// Remembers the nodes there are now.
    pub(crate) fn found(&self, nodes: Vec<Address>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = nodes;
    }

    /// The next nodes to ask: of those that were found last, and at least one of the URL.
    fn next(&self) -> Vec<Address> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |nodes: &[Address]| {
            let rotated = nodes.iter().cycle().skip(turn % nodes.len().max(1)).take(nodes.len().min(ASKED));
            rotated.cloned().collect::<Vec<_>>()
        };
        let mut next = of(&found);
        next.truncate(ASKED - 1);
        next.extend(of(&self.of_url));
        next.truncate(ASKED);
        next
    }

    /// A node that is part of a cluster that works.
    pub(super) async fn working_node(
        &self,
        client_at: impl Fn(&Address) -> RedisResult<Client>,
        failures: &Failures,
    ) -> io::Result<Client> {
        let mut asked = JoinSet::new();
        for address in self.next() {
            let client = client_at(&address).map_err(|error| failures.of(&error))?;
            let failures = Failures { address: address.to_string() };
            asked.spawn(async move {
                let connected = client.get_multiplexed_async_connection().await;
                let mut connection = connected.map_err(|error| failures.of(&error))?;
                check_cluster(&mut connection, &failures).await.map(|()| client)
            });
        }
        let mut reason = None;
        // The rest is dropped with `asked`.
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(error)) => reason = Some(error),
                Err(_) => {}
            }
        }
        Err(reason.unwrap_or_else(|| failures.away("no node answers")))
    }
}

/// The nodes of the URL.
impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.of_url.iter().map(Address::to_string).collect();
        f.write_str(&addresses.join(","))
    }
}

/// Whether the cluster works, in a reply to `CLUSTER INFO`.
pub(crate) fn works(info: &str) -> bool {
    info.lines().any(|line| line.trim() == "cluster_state:ok")
}

/// Asks a node whether the cluster works, as far as it can see: one that lost the others says no, too.
pub(crate) async fn check_cluster(
    connection: &mut redis::aio::MultiplexedConnection,
    failures: &Failures,
) -> io::Result<()> {
    let info: RedisResult<String> = redis::cmd("CLUSTER").arg("INFO").query_async(connection).await;
    match info {
        Ok(info) if works(&info) => Ok(()),
        Ok(_) => Err(failures.cluster_down()),
        Err(error) if error.to_string().contains("cluster support disabled") => {
            let text = "it is not a node of a cluster; connect to it alone: `redis://host:port/`";
            Err(failures.error(io::ErrorKind::Unsupported, text))
        }
        Err(error) => Err(failures.of(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str) -> Address {
        Address { host: host.to_owned(), port: 1 }
    }

    #[test]
    fn addresses_are_taken_apart_and_put_together() {
        assert_eq!(Address::split("10.0.0.1:6379"), Some((Some("10.0.0.1".into()), 6379)));
        assert_eq!(Address::split("[::1]:6379"), Some((Some("::1".into()), 6379)));
        assert_eq!(Address::split("2001:db8::1:6379"), Some((Some("2001:db8::1".into()), 6379)));
        assert_eq!(Address::split(":6379"), Some((None, 6379)));
        assert_eq!(Address::split("nowhere"), None);
        assert_eq!(address("::1").to_string(), "[::1]:1");
        assert_eq!(address("one").to_string(), "one:1");
    }

    #[test]
    fn nodes_are_asked_in_turn_and_some_of_the_url_always() {
        let seeds = Seeds::new(["one", "two"].map(address).to_vec()).unwrap();
        assert_eq!(seeds.next().len(), 2);
        seeds.found(["a", "b", "c", "d"].map(address).to_vec());
        let mut asked = std::collections::HashSet::new();
        for _ in 0..4 {
            let next = seeds.next();
            assert!(next.len() == ASKED && next.iter().any(|node| ["one", "two"].contains(&node.host.as_str())));
            asked.extend(next);
        }
        assert_eq!(asked.len(), 6, "all of them");
    }
}
