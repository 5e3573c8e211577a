//! A real `redis-server` of the test's own, on a free port.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_redis::{Redis, RedisBuilder};

/// How long something may take that does not take long.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A server, which ends with the test.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    options: Vec<String>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts a server with further options.
    pub(crate) async fn with(options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        // Somebody else may take the port in the meantime.
        for _ in 0..5 {
            if let Some(server) = Self::on(free_port(), options.clone()).await {
                return server;
            }
        }
        panic!("redis-server does not start");
    }

    /// Starts a server on a port, unless that is taken.
    pub(crate) async fn on(port: u16, options: Vec<String>) -> Option<Self> {
        let process = spawn(port, &options);
        let mut server = Server { process, port, options };
        server.listens().await.then_some(server)
    }

    /// Starts a Sentinel that watches a primary.
    pub(crate) async fn sentinel(primary: &Server) -> Self {
        for _ in 0..5 {
            let port = free_port();
            let file = folder(port).join("sentinel.conf");
            let config = format!(
                "port {port}\nbind 127.0.0.1\nsentinel monitor notes 127.0.0.1 {} 1\n\
                 sentinel down-after-milliseconds notes 500\nsentinel failover-timeout notes 3000\n",
                primary.port
            );
            std::fs::write(&file, config).unwrap();
            let options = vec![file.to_string_lossy().into_owned(), "--sentinel".to_owned()];
            let mut server = Server { process: run(port, &options), port, options };
            if server.listens().await {
                return server;
            }
        }
        panic!("redis-server --sentinel does not start");
    }

    async fn listens(&mut self) -> bool {
        let begun = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(begun.elapsed() < SOON, "redis-server does not listen");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // It exits if it could not bind, and another server listens there.
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.process.try_wait().unwrap().is_none()
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) async fn connect(&self) -> Redis {
        self.builder().connect().await.unwrap()
    }

    /// A connection with time for a machine that is busy.
    pub(crate) fn builder(&self) -> RedisBuilder {
        patient(&self.url())
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts an empty server on the same port.
    pub(crate) async fn revive(&mut self) {
        let begun = Instant::now();
        loop {
            self.process = spawn(self.port, &self.options);
            if self.listens().await {
                return;
            }
            assert!(begun.elapsed() < SOON, "redis-server does not start again");
        }
    }

    /// Stops the process: it accepts connections and answers nothing. `CONT` lets it go on.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Runs a command on a connection of its own.
    pub(crate) async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }

    /// All keys.
    pub(crate) async fn keys(&self) -> Vec<String> {
        self.command(&["KEYS", "*"]).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(folder(self.port));
    }
}

/// A connection with time for a machine that is busy.
pub(crate) fn patient(url: &str) -> RedisBuilder {
    Redis::builder(url).response_timeout(SOON / 2).connect_timeout(SOON / 2)
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn spawn(port: u16, options: &[String]) -> Child {
    let number = port.to_string();
    let own = ["--port", &number, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"].map(str::to_owned);
    run(port, &[&own[..], options].concat())
}

/// A folder for the files of a server.
fn folder(port: u16) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcp-redis-{}-{port}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(port: u16, arguments: &[String]) -> Child {
    let started = Command::new("redis-server")
        .args(arguments)
        .current_dir(folder(port))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(process) => process,
        Err(error) => panic!(
            "these tests need `redis-server` 6.2 or newer on the PATH ({error}). Install it: \
             `apt-get install -y redis-server`, `dnf install -y redis`, `brew install redis`"
        ),
    }
}

/// Repeats a check until it holds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, check: impl Fn() -> F) {
    let begun = Instant::now();
    while !check().await {
        assert!(begun.elapsed() < SOON, "it does not happen: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
