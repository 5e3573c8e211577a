//! A real `redis-server` that is restarted and stopped on purpose.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::Result;
use crate::replica::{signal, wait};

const START: Duration = Duration::from_secs(30);

/// The process; it ends with this value.
#[derive(Debug)]
pub(crate) struct Redis {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Redis {
    /// Starts one on a free port, with its files in a folder.
    pub(crate) async fn start(folder: &Path) -> Result<Self> {
        // Somebody else may take the port in the meantime.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let mut redis = Redis { process: spawn(port, folder)?, port, folder: folder.to_owned() };
            if redis.listens().await? {
                return Ok(redis);
            }
        }
        Err("redis-server does not start".into())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// SIGTERM, and another process with the same files: every write is in its log.
    pub(crate) async fn restart(&mut self, away: Duration) -> Result<()> {
        signal(&self.process, Signal::TERM);
        wait(&mut self.process, START).await?;
        tokio::time::sleep(away).await;
        self.process = spawn(self.port, &self.folder)?;
        if self.listens().await? { Ok(()) } else { Err("redis-server does not start again".into()) }
    }

    /// Stops the process for a while: connections stay, and nothing is answered.
    pub(crate) async fn pause(&self, time: Duration) {
        signal(&self.process, Signal::STOP);
        tokio::time::sleep(time).await;
        signal(&self.process, Signal::CONT);
    }

    /// Whether it listens on its port; if that was taken, the process ends.
    async fn listens(&mut self) -> Result<bool> {
        let begun = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            if self.process.try_wait()?.is_some() {
                return Ok(false);
            }
            if begun.elapsed() > START {
                return Err("redis-server does not listen".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(self.process.try_wait()?.is_none())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(port: u16, folder: &Path) -> Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`redis-server` 6.2 or newer must be on the PATH: {error}").into())
}
