//! A block of the book in a process of its own, and an address for it.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mcp_tests::http::{Ask, Response, Wire, call, soon};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};

/// The environment variable that names the block to run.
pub(crate) const BLOCK: &str = "MCP_TESTS_BLOCK";

/// A free address on this machine.
pub(crate) struct Address {
    pub(crate) socket: SocketAddr,
    /// Keeps the port for whoever listens there with `SO_REUSEADDR`, as Tokio does: Linux lets others bind a port that is
    /// bound without being listened on.
    _held: Option<TcpSocket>,
}

impl Address {
    pub(crate) fn free() -> Self {
        let held = TcpSocket::new_v4().unwrap();
        held.set_reuseaddr(true).unwrap();
        held.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let socket = held.local_addr().unwrap();
        Address { socket, _held: cfg!(target_os = "linux").then_some(held) }
    }

    /// As a program is told to listen there.
    pub(crate) fn to_text(&self) -> String {
        self.socket.to_string()
    }

    /// The same port, of all addresses of this machine.
    pub(crate) fn everywhere(&self) -> String {
        format!("0.0.0.0:{}", self.socket.port())
    }

    /// The URL of the endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.socket)
    }
}

/// A directory, which goes with the check.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-book-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    /// The path of a file there.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What blocks look for in the environment. The check says it, and not whoever runs the tests.
const READ: [&str; 7] = ["ADDRESS", "CI_TOKEN", "LISTEN_FDS", "LISTEN_PID", "NONCE_SECRET", "REDIS_URL", "RUST_LOG"];

/// The command that runs a block, with what stands for the addresses of its page.
pub(crate) fn command(block: &str, environment: &[(&str, &str)]) -> Command {
    running(Command::new(std::env::current_exe().unwrap()), block, environment)
}

fn running(mut command: Command, block: &str, environment: &[(&str, &str)]) -> Command {
    for name in READ {
        command.env_remove(name);
    }
    command.env(BLOCK, block).envs(environment.iter().copied());
    command
}

/// A running block, which ends with the check.
pub(crate) struct Program(Child);

impl Program {
    pub(crate) fn start(block: &str, environment: &[(&str, &str)]) -> Self {
        Self::of(command(block, environment).stdin(Stdio::null()))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        Program(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts a block as systemd does, which has bound its socket.
    pub(crate) fn activated(block: &str, socket: StdTcpListener) -> Self {
        let script = r#"exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0""#;
        let mut command = running(Command::new("sh"), block, &[]);
        command.args(["-c", script]).arg(std::env::current_exe().unwrap());
        Self::of(command.stdin(Stdio::from(OwnedFd::from(socket))))
    }

    /// The response to a request, once the program listens.
    pub(crate) async fn ask(&mut self, address: SocketAddr, ask: &Ask) -> Response {
        let mut wire = Wire::over(soon(self.connect(address)).await);
        wire.send(&ask.bytes()).await;
        wire.response().await
    }

    async fn connect(&mut self, address: SocketAddr) -> TcpStream {
        loop {
            if let Ok(stream) = TcpStream::connect(address).await {
                return stream;
            }
            if let Some(status) = self.0.try_wait().unwrap() {
                panic!("it has ended ({status}) instead of listening: {:?}", self.said());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asserts that it adds, if asked at this host name.
    pub(crate) async fn adds(&mut self, address: SocketAddr, host: &str) {
        let sum = self.ask(address, &call("add", &json!({"a": 2, "b": 3})).but("Host", host)).await;
        assert_eq!((sum.status, &sum.json()["result"]["content"][0]["text"]), (200, &json!("5")), "{sum:?}");
    }

    /// Asks it to end, which it does with success. Returns what it has said on standard output and standard error.
    pub(crate) async fn terminate(self) -> (String, String) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        let (succeeded, said) = self.ended().await;
        assert!(succeeded, "{said:?}");
        said
    }

    /// Waits for its end. Returns whether it was a success, and what it has said.
    pub(crate) async fn ended(mut self) -> (bool, (String, String)) {
        let ended = async {
            loop {
                if let Some(status) = self.0.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let status = soon(ended).await;
        (status.success(), self.said())
    }

    fn said(&mut self) -> (String, String) {
        let (mut out, mut log) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (out, log)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
