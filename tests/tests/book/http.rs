//! `docs/book/http.md`: listening by itself, by the command line, with TLS, on several sockets, and on those of systemd.

use std::net::TcpListener as StdTcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, modern, soon};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::child::{Address, Place, Program, command};

/// A request that every server answers.
fn discover() -> Ask {
    modern("server/discover", json!({}))
}

/// The whole response to a request, as text.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, ask: Ask) -> String {
    stream.write_all(&ask.with("Connection", "close").bytes()).await.unwrap();
    let mut text = String::new();
    // TLS may end without a farewell, which is no part of the response.
    let _ = soon(stream.read_to_string(&mut text)).await;
    text
}

pub(crate) async fn service() {
    let address = Address::free();
    let mut program = Program::start("http_1", &[("127.0.0.1:8080", &address.to_text())]);
    for host in ["mcp.example.com", "localhost", "127.0.0.1"] {
        program.adds(address.socket, host).await;
    }
    let refused = program.ask(address.socket, &discover().but("Host", "evil.example")).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    program.terminate().await;
}

pub(crate) async fn command_line() {
    let address = Address::free();
    let mut started = command("http_2", &[]);
    let mut program = Program::of(started.args(["--http", &address.to_text()]).stdin(Stdio::null()));
    for (path, host, status) in
        [("/healthz", "localhost", 200), ("/readyz", "mcp.example.com", 200), ("/other", "localhost", 404)]
    {
        let response = program.ask(address.socket, &Ask::new("GET").at(path).but("Host", host)).await;
        assert_eq!(response.status, status, "{path}: {response:?}");
    }
    let response = program.ask(address.socket, &discover()).await;
    assert_eq!(response.status, 200, "{response:?}");
    let (_, log) = program.terminate().await;
    assert!(log.contains(&format!("listening on {}", address.url())), "{log}");
}

pub(crate) async fn tls() {
    let address = Address::free();
    let (succeeded, said) = Program::start("http_6", &[("0.0.0.0:8443", &address.everywhere())]).ended().await;
    assert!(succeeded, "{said:?}");
}

/// Serves with a certificate of its own, calls, and shuts down.
#[tokio::main]
pub(crate) async fn over_tls<F>(
    serve: impl FnOnce(HttpService, ServerConfig) -> F,
    address: &str,
) -> Result<(), ServerError>
where
    F: Future<Output = Result<(), ServerError>> + Send + 'static,
{
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let service = Server::new("hello", "0.1.0").into_service();
    let handle = service.handle();
    let serving = tokio::spawn(serve(service, config));
    let address = address.replace("0.0.0.0", "127.0.0.1");
    let stream = soon(async {
        loop {
            match TcpStream::connect(&address).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    let name = ServerName::try_from("localhost").unwrap();
    let stream = soon(TlsConnector::from(Arc::new(client)).connect(name, stream.await)).await.unwrap();
    let response = exchange(stream, discover()).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    handle.start_shutdown();
    soon(serving).await.unwrap()
}

pub(crate) async fn several_sockets() {
    let (address, place) = (Address::free(), Place::new("sockets"));
    let path = place.file("s");
    let mut program = Program::start("http_7", &[("127.0.0.1:8080", &address.to_text()), ("/run/mcp/socket", &path)]);
    assert_eq!(program.ask(address.socket, &discover()).await.status, 200);
    let response = exchange(UnixStream::connect(&path).await.unwrap(), discover()).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    program.terminate().await;
}

pub(crate) async fn sockets_of_systemd() {
    let socket = StdTcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut program = Program::activated("http_8", socket);
    assert_eq!(program.ask(address, &discover()).await.status, 200);
    program.terminate().await;
    let (succeeded, (_, log)) = Program::start("http_8", &[]).ended().await;
    assert!(!succeeded && log.contains("systemd has passed no sockets to this process"), "{log}");
}
