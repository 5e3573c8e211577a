//! A fleet as clients see it: replicas, and the proxy before them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Result;
use crate::folder::Folder;
use crate::options::Options;
use crate::proxy::{Proxy, Replicas};
use crate::redis::Redis;
use crate::replica::{Recipe, Replica};

/// The name of the file of effects.
const EFFECTS: &str = "effects";

/// Everything ends with this value. Redis has to outlive it: replicas would log that it has gone.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) replicas: Vec<Replica>,
    routes: Arc<Replicas>,
    proxy: Proxy,
    folder: Folder,
}

impl Site {
    /// Starts as many replicas as the options say, with this Redis, and a proxy.
    pub(crate) async fn start(options: &Options, redis: &Redis) -> Result<Self> {
        Self::with_urls(options, &vec![redis.url(); options.replicas], 0).await
    }

    /// Starts a replica for each of these URLs of Redis, whose replicas their writes wait for.
    pub(crate) async fn with_urls(options: &Options, urls: &[String], wait: u32) -> Result<Self> {
        Self::with(options, urls, wait, None).await
    }

    /// Starts a replica for each of these URLs, whose sessions may be idle for so many seconds.
    pub(crate) async fn with_idle_sessions(options: &Options, urls: &[String], seconds: u64) -> Result<Self> {
        Self::with(options, urls, 0, Some(seconds)).await
    }

    async fn with(options: &Options, urls: &[String], wait: u32, session_idle: Option<u64>) -> Result<Self> {
        let folder = Folder::new()?;
        let mut replicas = Vec::new();
        for (number, url) in urls.iter().enumerate() {
            let (program, log) = (options.everything.clone(), folder.0.join(format!("replica-{number}.log")));
            let effects = folder.0.join(EFFECTS);
            replicas
                .push(Replica::start(Recipe { program, redis: url.clone(), wait, log, effects, session_idle }).await?);
        }
        let routes = Replicas::new(replicas.iter().map(|replica| replica.address).collect());
        let proxy = Proxy::start(Arc::clone(&routes)).await?;
        Ok(Site { replicas, routes, proxy, folder })
    }

    /// The file of effects, which `durable_steps` appends to.
    pub(crate) fn effects(&self) -> PathBuf {
        self.folder.0.join(EFFECTS)
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
