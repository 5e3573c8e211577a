//! A fleet as a whole: Redis, replicas, and the proxy before them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use crate::Result;
use crate::proxy::{Proxy, Replicas};
use crate::redis::Redis;
use crate::replica::{Recipe, Replica};

/// Everything ends with this value.
#[derive(Debug)]
pub(crate) struct Site {
    // Replicas first: they would log that Redis has gone.
    pub(crate) replicas: Vec<Replica>,
    pub(crate) redis: Redis,
    routes: Arc<Replicas>,
    proxy: Proxy,
    _folder: Folder,
}

impl Site {
    /// Starts Redis, this many replicas of a program, and a proxy.
    pub(crate) async fn start(program: &Path, count: usize) -> Result<Self> {
        let folder = Folder::new()?;
        let redis = Redis::start(&folder.0).await?;
        let mut replicas = Vec::new();
        for number in 0..count {
            let log = folder.0.join(format!("replica-{number}.log"));
            replicas.push(Replica::start(Recipe { program: program.to_owned(), redis: redis.address(), log }).await?);
        }
        let routes = Replicas::new(replicas.iter().map(|replica| replica.address).collect());
        let proxy = Proxy::start(Arc::clone(&routes)).await?;
        Ok(Site { replicas, redis, routes, proxy, _folder: folder })
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.proxy.address
    }

    /// A proxy of a client's own: nobody else takes turns there.
    pub(crate) async fn another_proxy(&self) -> Result<Proxy> {
        Ok(Proxy::start(Arc::clone(&self.routes)).await?)
    }

    /// Starts a replica again that was killed or shut down, and tells the proxy where it is.
    pub(crate) async fn revive(&mut self, number: usize) -> Result<()> {
        self.replicas[number].revive().await?;
        self.routes.moved(number, self.replicas[number].address);
        Ok(())
    }
}

/// A folder for logs and Redis's files, deleted in the end.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("mcp-fleet-{}-{number}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
