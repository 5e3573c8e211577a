//! A primary of Redis, a replica of it, and the three Sentinels that replace the one by the other.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Result;
use crate::redis::Redis;

/// The name of the primary.
const NAME: &str = "fleet";

/// How long until Sentinels and replicas know each other.
const ACQUAINTED: Duration = Duration::from_secs(60);

/// The processes; they end with this value.
#[derive(Debug)]
pub(crate) struct Watched {
    sentinels: Vec<Redis>,
    pub(crate) primary: Redis,
    pub(crate) replica: Redis,
}

impl Watched {
    /// Starts all of them, and waits until a failover is possible.
    pub(crate) async fn start() -> Result<Self> {
        let primary = Redis::start().await?;
        let replica = Redis::replica_of(&primary).await?;
        let (mut sentinels, at) = (Vec::new(), primary.address());
        let configuration = format!(
            "bind 127.0.0.1\nsentinel monitor {NAME} {} {} 2\nsentinel down-after-milliseconds {NAME} 1000\n\
             sentinel failover-timeout {NAME} 5000\n",
            at.ip(),
            at.port()
        );
        for _ in 0..3 {
            sentinels.push(Redis::with(&["--sentinel"], &configuration).await?);
        }
        let all = Watched { sentinels, primary, replica };
        let begun = Instant::now();
        while !all.are_acquainted().await? {
            if begun.elapsed() > ACQUAINTED {
                return Err("the Sentinels do not find each other and the replica".into());
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(all)
    }

    async fn are_acquainted(&self) -> Result<bool> {
        let replica = format!("\r\n{}\r\n", self.replica.address().port());
        for sentinel in &self.sentinels {
            let known =
                sentinel.ask(&[&format!("SENTINEL CKQUORUM {NAME}"), &format!("SENTINEL REPLICAS {NAME}")]).await?;
            if !known.contains("OK 3 usable") || !known.contains(&replica) {
                return Ok(false);
            }
        }
        Ok(self.replica.ask(&["INFO replication"]).await?.contains("master_link_status:up"))
    }

    /// For `REDIS_URL`.
    pub(crate) fn url(&self) -> String {
        let all: Vec<String> = self.sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
        format!("redis+sentinel://{}/{NAME}", all.join(","))
    }

    /// Waits until the replica has everything that was written so far.
    pub(crate) async fn replicate(&self) -> Result<()> {
        // `WAIT` waits for the last write of its own connection, and with it for all before.
        let replies = self.primary.ask(&["SET fleet:replicated now PX 60000", "WAIT 1 20000"]).await?;
        if replies.contains(":1") { Ok(()) } else { Err(format!("the replica does not follow: {replies}").into()) }
    }

    /// Kills the primary, and waits until the Sentinels name the other one. Returns how long that took.
    pub(crate) async fn fail_over(&mut self) -> Result<Duration> {
        self.primary.kill();
        let (begun, port) = (Instant::now(), format!("\r\n{}\r\n", self.replica.address().port()));
        loop {
            let named = self.sentinels[0].ask(&[&format!("SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}")]).await?;
            if named.contains(&port) {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > ACQUAINTED {
                return Err(format!("no failover: {named}").into());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}
