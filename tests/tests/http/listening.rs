//! Where a server listens, and why it cannot: the log line of a listener, and the errors of `serve`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use mcp_runtime::Server;
use mcp_runtime::http::HttpService;
use mcp_tests::http::{Ask, Site, soon, until};
use tokio::net::TcpListener;
use tracing::Level;
use tracing_subscriber::prelude::*;

use crate::log::Log;

fn server() -> Server {
    Server::new("listener", "1.0.0").disable_signals()
}

/// The error of serving on an address that cannot be bound.
async fn refusal(address: impl tokio::net::ToSocketAddrs) -> String {
    soon(server().serve_http(address)).await.unwrap_err().to_string()
}

/// The address in the log of a server that listens on port 0.
async fn logged(service: mcp_runtime::http::HttpService, path: &str) -> SocketAddr {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let handle = service.handle();
    let serving = tokio::spawn(service.serve("127.0.0.1:0"));
    until(|| log.find("listening on").is_some()).await;
    let (level, text) = log.find("listening on").unwrap();
    assert_eq!(level, Level::INFO);
    let address = text.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix(path)).expect(&text);
    let address: SocketAddr = address.parse().expect(&text);
    assert!(tokio::net::TcpStream::connect(address).await.is_ok(), "{text}");
    handle.shutdown().await;
    soon(serving).await.unwrap().unwrap();
    address
}

#[tokio::test]
async fn address_of_the_listener_is_logged() {
    assert_ne!(logged(server().into_service(), "/mcp").await.port(), 0);
    logged(server().into_service().endpoint("/tools/v1"), "/tools/v1").await;
}

#[tokio::test]
async fn bind_error_names_the_address_and_this_process() {
    let held = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = held.local_addr().unwrap();
    let error = refusal(address).await;
    assert!(error.starts_with(&format!("cannot listen on {address}: ")), "{error}");
    assert!(error.ends_with("stop it, or choose another port"), "{error}");
    if cfg!(target_os = "linux") {
        assert!(error.contains("this process listens there already"), "{error}");
    }
}

#[cfg(target_os = "linux")] // elsewhere the holder is not looked for
#[tokio::test]
async fn bind_error_names_the_process_that_holds_the_port() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let mut replica = Command::new(env!("CARGO_BIN_EXE_replica")).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(replica.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let address: SocketAddr = address.trim().parse().unwrap();
    let same = refusal(address).await;
    // The wildcard address overlaps with every other.
    let overlapping = refusal(("0.0.0.0", address.port())).await;
    replica.kill().unwrap();
    replica.wait().unwrap();
    let holder = format!("process {} (replica) listens there already", replica.id());
    assert_eq!(same, format!("cannot listen on {address}: {holder}; stop it, or choose another port"));
    assert!(overlapping.contains(&holder), "{overlapping}");
}

#[tokio::test]
async fn every_address_that_was_tried_is_named() {
    let held = [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let addresses = held.map(|listener| (listener.local_addr().unwrap(), listener));
    let error = refusal(&[addresses[0].0, addresses[1].0][..]).await;
    for (address, _) in &addresses {
        assert!(error.contains(&format!("cannot listen on {address}: ")), "{error}");
    }
}

#[tokio::test]
async fn address_of_another_machine_is_explained() {
    // Reserved for documentation: no machine has it.
    let error = refusal("192.0.2.1:8080").await;
    assert!(error.starts_with("cannot listen on 192.0.2.1:8080: this machine does not have that address"), "{error}");
    assert!(error.contains("use 127.0.0.1"), "{error}");
}

#[tokio::test]
async fn malformed_address_is_explained() {
    for address in ["8080", "localhost", "127.0.0.1:http", "127.0.0.1:99999"] {
        let error = refusal(address).await;
        assert!(error.starts_with("cannot listen: "), "{error}");
        assert!(error.ends_with("like 127.0.0.1:8080"), "{error}");
    }
    let error = refusal(&[][..]).await;
    assert!(error.starts_with("cannot listen: ") && error.contains("no address"), "{error}");
}

/// The options of `Server::http` hold for each way to serve, and `--http` says where it listens once: not in the log.
#[tokio::test]
async fn command_line_serves_with_the_options_of_the_server() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let applied = Arc::new(AtomicUsize::new(0));
    let count = |by| {
        let applied = Arc::clone(&applied);
        move |service: HttpService| {
            applied.store(applied.load(SeqCst) * 10 + by, SeqCst);
            service
        }
    };
    let server = server().http(count(1)).http(count(2));
    let handle = server.handle();
    let running = tokio::spawn(server.run_with(["--http", "127.0.0.1:0"]));
    until(|| applied.load(SeqCst) == 12).await;
    handle.shutdown().await;
    assert_eq!(format!("{:?}", soon(running).await.unwrap()), format!("{:?}", ExitCode::SUCCESS));
    assert_eq!(log.find("listening on"), None);
}

#[tokio::test]
async fn service_of_a_server_has_its_options() {
    let server = server().http(|service| service.endpoint("/tools").health("/healthz", "/readyz"));
    let site = Site::of(server).await;
    assert_eq!(site.ask(&Ask::new("GET").at("/readyz")).await.status, 200);
    assert_eq!(site.ask(&Ask::new("GET").at("/mcp")).await.status, 404);
    let both = self::server().http(|service| service.endpoint("/one")).into_service().endpoint("/two");
    let site = Site::serving(both).await;
    assert_eq!(site.ask(&Ask::new("GET").at("/one")).await.status, 404, "the service's own options come last");
}
