//! Where requests go: to one server, or to the nodes of a cluster by their keys.

use std::io;
use std::sync::Arc;

use redis::FromRedisValue;

use super::{Cluster, Durability};
use crate::link::handshake::Dialer;
use crate::link::kept::Kept;
use crate::link::{Channels, Link, Repeat, Request, Way};

/// The server, or the cluster.
pub(crate) struct Router {
    servers: Servers,
    kept: Arc<Kept>,
}

enum Servers {
    One(Link),
    Cluster(Arc<Cluster>),
}

impl Router {
    /// Connects on first use.
    pub(crate) fn lazy(dialer: Dialer, channels: Channels) -> Self {
        let kept = Arc::new(Kept::default());
        let is_cluster = dialer.seeds().is_some();
        let link = Link::lazy(dialer, Some(channels), Arc::clone(&kept));
        let servers = if is_cluster {
            Servers::Cluster(Arc::new(Cluster::new(link, Arc::clone(&kept))))
        } else {
            Servers::One(link)
        };
        Router { servers, kept }
    }

    /// The link that carries changes.
    fn home(&self) -> &Link {
        match &self.servers {
            Servers::One(link) => link,
            Servers::Cluster(cluster) => &cluster.home,
        }
    }

    /// Connects for the first time; the error says what to do.
    pub(crate) async fn connect(&self) -> io::Result<()> {
        match &self.servers {
            Servers::One(link) => link.connect().await,
            Servers::Cluster(cluster) => cluster.connect().await,
        }
    }

    /// Starts the engine, unless it is running.
    pub(crate) fn start(&self) {
        self.home().start();
    }

    /// Asks whether the server is there, and whether the cluster works.
    pub(crate) async fn ping(&self) -> io::Result<()> {
        match &self.servers {
            Servers::One(link) => {
                let ping = Request::Command(redis::cmd("PING"));
                link.run(&ping, Repeat::Safe, Way::Straight).await.map_err(|refused| refused.error)
            }
            Servers::Cluster(cluster) => cluster.ping().await,
        }
    }

    /// Keeps a secret for a server that forgets it.
    pub(crate) fn keep(&self, key: &str, agreed: &[u8]) {
        self.kept.add(key, agreed);
    }

    /// Runs a request.
    pub(crate) async fn run<T: FromRedisValue>(&self, request: &Request, repeat: Repeat) -> io::Result<T> {
        match (&self.servers, request.key()) {
            (Servers::Cluster(cluster), Some(key)) => cluster.run(key, request, repeat, Durability::Usual).await,
            _ => self.home().run(request, repeat, Way::Straight).await.map_err(|refused| refused.error),
        }
    }

    /// Runs a write that has to survive a failover: if replicas have to have it, it waits for them.
    pub(crate) async fn write<T: FromRedisValue>(&self, request: &Request, repeat: Repeat) -> io::Result<T> {
        match (&self.servers, request.key()) {
            (Servers::Cluster(cluster), Some(key)) => cluster.run(key, request, repeat, Durability::Replicated).await,
            _ => self.home().write(request, repeat, Way::Straight).await.map_err(|refused| refused.error),
        }
    }
}
