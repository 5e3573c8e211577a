//! A real `redis-server` that is restarted, stopped and killed on purpose.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::Result;
use crate::folder::Folder;
use crate::replica::{signal, wait};

const START: Duration = Duration::from_secs(30);

/// The process; it ends with this value.
#[derive(Debug)]
pub(crate) struct Redis {
    process: Child,
    port: u16,
    /// What it is started with, but for its port.
    arguments: Vec<String>,
    folder: Folder,
}

impl Redis {
    /// Starts one on a free port that logs every write in a folder of its own.
    pub(crate) async fn start() -> Result<Self> {
        Self::with(&["--bind 127.0.0.1", "--save ", "--appendonly yes", "--appendfsync everysec"], "").await
    }

    /// Starts a replica of another one.
    pub(crate) async fn replica_of(primary: &Redis) -> Result<Self> {
        let of = format!("--replicaof 127.0.0.1 {}", primary.port);
        Self::with(&["--bind 127.0.0.1", "--save ", "--appendonly no", &of], "").await
    }

    /// Starts one with these options, each with its value. A configuration is a file, which Sentinels need.
    pub(crate) async fn with(options: &[&str], configuration: &str) -> Result<Self> {
        // Somebody else may take the port in the meantime.
        for _ in 0..5 {
            let (folder, port) = (Folder::new()?, TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
            let mut arguments = Vec::new();
            if !configuration.is_empty() {
                let file = folder.0.join("redis.conf");
                fs::write(&file, configuration)?;
                arguments.push(file.display().to_string());
            }
            for option in options {
                let (name, value) = option.split_once(' ').unwrap_or((option, ""));
                arguments.push(name.to_owned());
                arguments.extend(option.contains(' ').then(|| value.to_owned()));
            }
            let mut redis = Redis { process: spawn(port, &arguments, &folder.0)?, port, arguments, folder };
            if redis.listens().await? {
                return Ok(redis);
            }
        }
        Err("redis-server does not start".into())
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}/", self.address())
    }

    /// SIGTERM, and another process with the same files: every write is in its log.
    pub(crate) async fn restart(&mut self, away: Duration) -> Result<()> {
        signal(&self.process, Signal::TERM);
        wait(&mut self.process, START).await?;
        self.revive(away).await
    }

    /// SIGKILL, and another process that knows nothing.
    pub(crate) async fn restart_empty(&mut self, away: Duration) -> Result<()> {
        self.kill();
        fs::remove_dir_all(&self.folder.0)?;
        fs::create_dir_all(&self.folder.0)?;
        self.revive(away).await
    }

    async fn revive(&mut self, away: Duration) -> Result<()> {
        tokio::time::sleep(away).await;
        self.process = spawn(self.port, &self.arguments, &self.folder.0)?;
        if self.listens().await? { Ok(()) } else { Err("redis-server does not start again".into()) }
    }

    /// Kills the process: SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Runs commands on a connection of their own, and returns the replies as they were sent.
    pub(crate) async fn ask(&self, commands: &[&str]) -> Result<String> {
        let talk = async {
            let mut connection = tokio::net::TcpStream::connect(self.address()).await?;
            // The reply to the last one is the end; Sentinels do not know `QUIT`.
            connection.write_all(format!("{}\r\nPING done\r\n", commands.join("\r\n")).as_bytes()).await?;
            let (mut replies, end) = (Vec::new(), b"$4\r\ndone\r\n");
            while !replies.ends_with(end) {
                if connection.read_buf(&mut replies).await? == 0 {
                    return Err("redis-server hangs up".into());
                }
            }
            Ok(String::from_utf8_lossy(&replies).into_owned())
        };
        timeout(START, talk).await?
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
        self.kill();
    }
}

fn spawn(port: u16, arguments: &[String], folder: &Path) -> Result<Child> {
    Command::new("redis-server")
        .args(arguments)
        .args(["--port", &port.to_string()])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`redis-server` 6.2 or newer must be on the PATH: {error}").into())
}
