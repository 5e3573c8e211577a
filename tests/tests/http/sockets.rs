//! Sockets other than TCP: Unix sockets, several at once, and those that systemd has bound.
#![cfg(unix)]

use std::net::TcpListener as StdTcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mcp_runtime::ServerHandle;
use mcp_runtime::http::{HttpService, Listener, Sockets};
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Wire, call, soon};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;

/// Who calls.
#[tool]
fn whoami(ctx: &Context) -> String {
    ctx.peer().map_or_else(|| "nobody".to_owned(), |peer| peer.to_string())
}

fn service() -> HttpService {
    Server::new("sockets", "1.0.0").disable_signals().tools(tools![whoami]).into_service()
}

/// A directory for sockets, which goes with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("s")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn serve(service: HttpService, listener: impl Listener) -> (ServerHandle, JoinHandle<Result<(), ServerError>>) {
    (service.handle(), tokio::spawn(service.serve_on(listener)))
}

/// What `whoami` says.
fn who() -> Ask {
    call("whoami", &json!({})).with("Connection", "close").with("X-Forwarded-For", "192.0.2.7")
}

/// The whole response to a request, as text.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, ask: &Ask) -> String {
    stream.write_all(&ask.bytes()).await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    text
}

async fn over(path: &Path, ask: &Ask) -> String {
    exchange(UnixStream::connect(path).await.unwrap(), ask).await
}

#[track_caller]
fn assert_said(response: &str, text: &str) {
    let says = response.contains(&format!(r#""text":"{text}""#));
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && says, "{text}: {response}");
}

#[tokio::test]
async fn unix_socket_is_served() {
    let place = Place::new("unix");
    let path = place.socket();
    let (handle, serving) = serve(service(), UnixListener::bind(&path).unwrap());
    assert_said(&over(&path, &who()).await, "nobody");
    let refused = over(&path, &who().but("Host", "evil.example")).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    // Whoever has connected when the server shuts down is served, as over TCP.
    let connected = UnixStream::connect(&path).await.unwrap();
    handle.start_shutdown();
    assert_said(&exchange(connected, &who()).await, "nobody");
    soon(serving).await.unwrap().unwrap();
    assert!(UnixStream::connect(&path).await.is_err(), "the socket is closed");
}

#[tokio::test]
async fn proxy_at_a_unix_socket_names_the_peer() {
    let place = Place::new("proxy");
    let path = place.socket();
    let _site = serve(service().trust_proxies(["unix"]), UnixListener::bind(&path).unwrap());
    assert_said(&over(&path, &who()).await, "192.0.2.7");
}

#[tokio::test]
async fn several_sockets_are_one_service() {
    let place = Place::new("several");
    let path = place.socket();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let sockets = Sockets::default().tcp(tcp).unix(UnixListener::bind(&path).unwrap());
    let (handle, serving) = serve(service(), sockets);
    for _ in 0..3 {
        assert_said(&over(&path, &who()).await, "nobody");
        assert_said(&exchange(TcpStream::connect(address).await.unwrap(), &who()).await, "127.0.0.1");
    }
    let (unix, tcp) = (UnixStream::connect(&path).await.unwrap(), TcpStream::connect(address).await.unwrap());
    handle.start_shutdown();
    assert_said(&exchange(unix, &who()).await, "nobody");
    assert_said(&exchange(tcp, &who()).await, "127.0.0.1");
    soon(serving).await.unwrap().unwrap();
    assert!(UnixStream::connect(&path).await.is_err() && TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn no_socket_at_all_is_a_mistake() {
    let error = service().serve_on(Sockets::default()).await.unwrap_err();
    assert!(error.to_string().contains("there is no socket to listen on: add one with `Sockets::tcp`"), "{error}");
}

/// The process of a service, which ends with the test.
struct Activated(Child);

impl Drop for Activated {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program as systemd does: its sockets are the descriptors from 3 on, and for its process alone.
fn activate(tcp: StdTcpListener, unix: StdUnixListener) -> Activated {
    let script = r#"exec 3<&0 4<&1 </dev/null >/dev/null; LISTEN_PID=$$ LISTEN_FDS=2 exec "$0""#;
    let (tcp, unix): (OwnedFd, OwnedFd) = (tcp.into(), unix.into());
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_activated")]);
    Activated(command.stdin(Stdio::from(tcp)).stdout(Stdio::from(unix)).spawn().unwrap())
}

#[tokio::test]
async fn sockets_of_systemd_are_served() {
    let place = Place::new("systemd");
    let path = place.socket();
    let tcp = StdTcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let service = activate(tcp, StdUnixListener::bind(&path).unwrap());
    let which = call("process", &json!({}));
    let process = format!(r#""text":"{}""#, service.0.id());
    // The sockets were bound before the process began: clients wait for it.
    let mut wire = Wire::to(address).await;
    wire.send(&which.bytes()).await;
    let response = wire.response().await;
    assert!(response.text().contains(&process), "{response:?}");
    let response = over(&path, &which.with("Connection", "close")).await;
    assert!(response.contains(&process), "{response}");
}

/// As a unit with `Accept=yes` does.
#[test]
fn connection_that_systemd_has_accepted_is_explained() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut command = Command::new("sh");
    let script = r#"exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0""#;
    command.args(["-c", script, env!("CARGO_BIN_EXE_activated")]).stdin(Stdio::from(OwnedFd::from(theirs)));
    let output = command.output().unwrap();
    drop(ours);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("set `Accept=no` in the unit"), "{text}");
}

#[test]
fn missing_sockets_of_systemd_are_explained() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_activated"));
    // Another process's.
    let output = command.env("LISTEN_FDS", "1").env("LISTEN_PID", "1").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("systemd has passed no sockets to this process"), "{text}");
}
