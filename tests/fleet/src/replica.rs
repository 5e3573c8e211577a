//! One replica: a process of `everything` that is killed, shut down and started again.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// How long a replica may take until it listens.
const START: Duration = Duration::from_secs(30);

/// How a replica is started.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    /// The URL of Redis, or of who stands before it. Without one it shares nothing.
    pub(crate) redis: String,
    /// The replicas of Redis that its writes wait for.
    pub(crate) wait: u32,
    /// Its log, which is written anew with each start.
    pub(crate) log: PathBuf,
    /// Where it notes what its durable tasks do.
    pub(crate) effects: PathBuf,
    /// The seconds a session may be idle, if not the default.
    pub(crate) session_idle: Option<u64>,
}

/// The process; it ends with this value.
#[derive(Debug)]
pub(crate) struct Replica {
    process: Child,
    recipe: Recipe,
    pub(crate) address: SocketAddr,
}

impl Replica {
    /// Starts a process, and waits until it listens.
    pub(crate) async fn start(recipe: Recipe) -> Result<Self> {
        let mut command = Command::new(&recipe.program);
        if recipe.redis.is_empty() {
            command.env_remove("REDIS_URL");
        } else {
            command.env("REDIS_URL", &recipe.redis);
        }
        let mut process = command
            .args(["--http", "127.0.0.1:0"])
            .envs(recipe.session_idle.map(|seconds| ("SESSION_IDLE", seconds.to_string())))
            .env("REDIS_WAIT", recipe.wait.to_string())
            .env("EFFECTS_FILE", &recipe.effects)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&recipe.log)?)
            .spawn()
            .map_err(|error| format!("{}: {error}", recipe.program.display()))?;
        match listens(&mut process, &recipe.log).await {
            Ok(address) => Ok(Replica { process, recipe, address }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the process: SIGKILL, which it does not notice.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Shuts the process down by SIGTERM, and waits until it has ended.
    pub(crate) async fn shut_down(&mut self) -> Result<()> {
        signal(&self.process, Signal::TERM);
        wait(&mut self.process, Duration::from_secs(60)).await
    }

    /// Starts another process in its place, at another address.
    pub(crate) async fn revive(&mut self) -> Result<()> {
        *self = Self::start(self.recipe.clone()).await?;
        Ok(())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn listens(process: &mut Child, log: &Path) -> Result<SocketAddr> {
    let begun = Instant::now();
    loop {
        let said = fs::read_to_string(log)?;
        let address = said.lines().find_map(|line| line.split_once("listening on http://")?.1.strip_suffix("/mcp"));
        if let Some(address) = address {
            return Ok(address.parse()?);
        }
        if process.try_wait()?.is_some() || begun.elapsed() > START {
            return Err(format!("a replica does not listen: {said}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Sends a signal to a process that was not waited for, so that the number is still its own.
pub(crate) fn signal(process: &Child, signal: Signal) {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    let _ = id.map(|id| kill_process(id, signal));
}

/// Waits for the end of a process.
pub(crate) async fn wait(process: &mut Child, longest: Duration) -> Result<()> {
    let begun = Instant::now();
    while process.try_wait()?.is_none() {
        if begun.elapsed() > longest {
            return Err(format!("process {} does not end", process.id()).into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
