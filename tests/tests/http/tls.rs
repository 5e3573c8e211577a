//! TLS, with a handshake of the application's: here tokio-rustls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_tests::http::server::server;
use mcp_tests::http::{Wire, call, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

struct Secure {
    address: SocketAddr,
    connector: TlsConnector,
    handle: mcp_runtime::ServerHandle,
    serving: JoinHandle<Result<(), ServerError>>,
}

impl Secure {
    /// A server with a certificate of its own, within these limits.
    async fn within(change: impl FnOnce(&mut Limits)) -> Self {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = certified.cert.der().clone();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

        let mut limits = Limits::default();
        change(&mut limits);
        let service = server(&Arc::default()).limits(limits).into_service();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, handle) = (listener.local_addr().unwrap(), service.handle());
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let serving = tokio::spawn(service.serve_tls(listener, move |stream| acceptor.accept(stream)));
        Secure { address, connector: TlsConnector::from(Arc::new(client)), handle, serving }
    }

    /// The whole response to a call, as text.
    async fn call(&self) -> String {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = soon(self.connector.connect(name, stream)).await.unwrap();
        let ask = call("add", &json!({"a": 2, "b": 3})).with("Connection", "close");
        stream.write_all(&ask.bytes()).await.unwrap();
        let mut text = String::new();
        // The end may come without a farewell, which is no part of the response.
        let _ = soon(stream.read_to_string(&mut text)).await;
        text
    }

    async fn serves(&self) {
        let response = self.call().await;
        assert!(response.starts_with("HTTP/1.1 200 OK") && response.contains(r#""text":"5""#), "{response}");
    }

    /// A connection that never begins its handshake.
    async fn stalled(&self) -> Wire {
        Wire::to(self.address).await
    }
}

#[tokio::test]
async fn calls_are_served_over_tls() {
    let site = Secure::within(|_| {}).await;
    site.serves().await;
    // A client without TLS is told so by the implementation, or not at all; others go on.
    let mut plain = Wire::to(site.address).await;
    plain.send(&call("add", &json!({"a": 2, "b": 3})).bytes()).await;
    assert!(plain.try_head().await.is_none());
    site.serves().await;
}

#[tokio::test]
async fn stalled_handshake_is_closed_in_time() {
    let site = Secure::within(|limits| limits.request_timeout = Duration::from_millis(150)).await;
    let begun = Instant::now();
    let mut stalled = site.stalled().await;
    assert!(stalled.is_closed().await);
    assert!(begun.elapsed() >= Duration::from_millis(150));
    site.serves().await;
}

#[tokio::test]
async fn stalled_handshakes_make_room_for_others() {
    let site = Secure::within(|limits| limits.connections = 4).await;
    let mut stalled = Vec::new();
    for _ in 0..12 {
        stalled.push(site.stalled().await);
    }
    for _ in 0..3 {
        site.serves().await;
    }
}

#[tokio::test]
async fn stalled_handshake_does_not_hold_up_a_shutdown() {
    let site = Secure::within(|limits| limits.drain_timeout = Duration::from_secs(10 * 60)).await;
    let _stalled = site.stalled().await;
    site.serves().await;
    site.handle.start_shutdown();
    soon(site.serving).await.unwrap().unwrap();
}

/// The application's function may panic, at once or in its future: only that connection ends.
#[tokio::test]
async fn panic_of_a_handshake_ends_its_connection() {
    let service = server(&Arc::default()).into_service();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = AtomicUsize::new(0);
    let accept = move |stream| {
        let connection = connections.fetch_add(1, Ordering::SeqCst);
        assert_ne!(connection, 0, "a panic of the test");
        async move {
            assert_ne!(connection, 1, "a panic of the test");
            Ok::<TcpStream, std::io::Error>(stream)
        }
    };
    let _serving = tokio::spawn(service.serve_tls(listener, accept));
    for _ in 0..2 {
        assert!(Wire::to(address).await.is_closed().await);
    }
    let mut wire = Wire::to(address).await;
    wire.send(&call("add", &json!({"a": 2, "b": 3})).bytes()).await;
    assert_eq!(wire.response().await.status, 200);
}
