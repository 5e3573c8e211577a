//! `docs/book/replicas.md` and `docs/book/deploying.md`, with a `redis-server` of the check's own, and replicas in one process.

use std::net::TcpListener as StdTcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use mcp_tests::http::{Ask, call_in, initialize, until};
use serde_json::json;

use crate::child::{Address, Place, Program};
use crate::commands::check_deployment;
use crate::programs::replicas_2;
use crate::services::{ask, nested};

/// A server at a Unix socket, which ends with the check.
struct Redis {
    process: Child,
    url: String,
    _place: Place,
}

impl Redis {
    async fn start(name: &str) -> Self {
        let place = Place::new(name);
        let socket = place.file("redis");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--unixsocket", &socket, "--save", "", "--appendonly", "no"]);
        let started = command.current_dir(&place.0).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = started.unwrap_or_else(|error| panic!("these blocks need `redis-server` on the PATH ({error})"));
        let redis = Redis { process, url: format!("unix://{socket}"), _place: place };
        until(|| UnixStream::connect(&socket).is_ok()).await;
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A session that is opened at one replica is known at the other.
pub(crate) async fn replicas() {
    let redis = Redis::start("replicas").await;
    let (first, second) = (Address::free(), Address::free());
    let shown = [("redis://127.0.0.1/", &*redis.url), ("127.0.0.1:8080", &*first.to_text())];
    let mut at_first = Program::start("replicas_1", &shown);
    let mut at_second = Program::start("replicas_1", &[&shown[..], &[("ADDRESS", &second.to_text())]].concat());
    at_first.adds(first.socket, "mcp.example.com").await;
    let opened = at_first.ask(first.socket, &initialize("2025-11-25")).await;
    let session = opened.header("mcp-session-id").unwrap_or_else(|| panic!("{opened:?}"));
    let sum = at_second.ask(second.socket, &call_in(session, 1, "add", &json!({"a": 2, "b": 3}))).await;
    assert!(sum.status == 200 && sum.text().contains(r#""text":"5""#), "{sum:?}");
    at_first.terminate().await;
    at_second.terminate().await;
}

/// The same in one process, with a backend for tests.
pub(crate) async fn replicas_in_memory() {
    let [first, second] = replicas_2::replicas().map(|service| axum::Router::new().nest_service("/mcp", service));
    let (first, second) = (nested(first).await, nested(second).await);
    let opened = ask(first, &initialize("2025-11-25")).await;
    let session = opened.header("mcp-session-id").unwrap_or_else(|| panic!("{opened:?}"));
    let sum = ask(second, &call_in(session, 1, "add", &json!({"a": 2, "b": 3}))).await;
    assert!(sum.status == 200 && sum.text().contains(r#""text":"5""#), "{sum:?}");
}

/// At an address, at a socket of systemd, and with a Redis.
pub(crate) async fn deployed() {
    let redis = Redis::start("deployed").await;
    let address = Address::free();
    let environment = [("ADDRESS", &*address.to_text()), ("REDIS_URL", &*redis.url)];
    for environment in [&environment[..1], &environment[..]] {
        let mut program = Program::start("deploying_1", environment);
        program.adds(address.socket, "mcp.example.com").await;
        for path in ["/healthz", "/readyz"] {
            let probe = program.ask(address.socket, &Ask::new("GET").at(path)).await;
            assert!(probe.status == 200 && probe.header("x-request-id").is_some(), "{probe:?}");
        }
        check_deployment(address.socket);
        let refused = program.ask(address.socket, &Ask::new("GET").but("Host", "evil.example")).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        let (_, log) = program.terminate().await;
        let told = format!("INFO mcp_runtime::transport::http::listener: listening on {}", address.url());
        assert!(log.contains(&told), "{log}");
        let refusal = log.lines().find(|line| line.contains("request refused")).unwrap_or_else(|| panic!("{log}"));
        for part in ["WARN", "status=403", "host `evil.example` is not allowed", "`HttpService::allow_hosts`"] {
            assert!(refusal.contains(part), "no {part}: {refusal}");
        }
    }
    let socket = StdTcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut program = Program::activated("deploying_1", socket);
    program.adds(address, "mcp.example.com").await;
    program.terminate().await;
}
