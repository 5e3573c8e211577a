//! A plain round-robin proxy: each request goes to the next replica that accepts a connection. It knows nothing of MCP, of
//! sessions or of who is healthy.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::timeout;

const LONGEST_HEAD: usize = 64 * 1024;
const CONNECT: Duration = Duration::from_secs(1);
const NO_REPLICA: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const NO_ANSWER: &[u8] =
    b"HTTP/1.1 502 Bad Gateway\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// The replicas, which come and go.
#[derive(Debug)]
pub(crate) struct Replicas(Mutex<Vec<SocketAddr>>);

impl Replicas {
    pub(crate) fn new(addresses: Vec<SocketAddr>) -> Arc<Self> {
        Arc::new(Replicas(Mutex::new(addresses)))
    }

    /// A replica was started again, at another address.
    pub(crate) fn moved(&self, number: usize, address: SocketAddr) {
        self.0.lock().expect("no panics while it is locked")[number] = address;
    }

    /// A connection to the next replica that accepts one, and its number. Nothing was sent yet, so trying another is safe.
    async fn connect(&self, turn: &AtomicUsize) -> Option<(usize, TcpStream)> {
        let addresses = self.0.lock().expect("no panics while it is locked").clone();
        for _ in 0..addresses.len() {
            let number = turn.fetch_add(1, Ordering::Relaxed) % addresses.len();
            if let Ok(Ok(stream)) = timeout(CONNECT, TcpStream::connect(addresses[number])).await {
                let _ = stream.set_nodelay(true);
                return Some((number, stream));
            }
        }
        None
    }
}

/// A listener that forwards until it is dropped. What it forwards already goes on.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    accepting: AbortHandle,
}

impl Proxy {
    pub(crate) async fn start(replicas: Arc<Replicas>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            let turn = Arc::new(AtomicUsize::new(0));
            loop {
                // Out of descriptors: those in use become free.
                let Ok((client, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let (replicas, turn) = (Arc::clone(&replicas), Arc::clone(&turn));
                tokio::spawn(async move {
                    let _ = client.set_nodelay(true);
                    let _ = forward(client, &replicas, &turn).await;
                });
            }
        });
        Ok(Proxy { address, accepting: accepting.abort_handle() })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Forwards one request, and its response as it comes. Both connections are closed then, so that each request is a choice.
async fn forward(mut client: TcpStream, replicas: &Replicas, turn: &AtomicUsize) -> io::Result<()> {
    let Some(request) = head(&mut client).await? else { return Ok(()) };
    let Some((number, mut replica)) = replicas.connect(turn).await else { return client.write_all(NO_REPLICA).await };
    let mut response = vec![0; 16 * 1024];
    let Ok(first @ 1..) = begin(&mut client, &mut replica, &request, &mut response).await? else {
        return client.write_all(NO_ANSWER).await;
    };
    let line = response[..first].iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    client.write_all(&response[..line]).await?;
    if line > 0 {
        client.write_all(format!("X-Replica: {number}\r\n").as_bytes()).await?;
    }
    client.write_all(&response[line..first]).await?;
    let ((mut from_client, mut to_client), (mut from_replica, mut to_replica)) = (client.split(), replica.split());
    // Whoever ends it, ends it for both: a client that leaves cancels its call, a replica that dies breaks the stream.
    tokio::select! {
        _ = tokio::io::copy(&mut from_replica, &mut to_client) => {}
        _ = tokio::io::copy(&mut from_client, &mut to_replica) => {}
    }
    Ok(())
}

/// Sends the request, and what the client sends of its body, until the response begins. The outer error is the client's.
async fn begin(
    client: &mut TcpStream,
    replica: &mut TcpStream,
    request: &[u8],
    response: &mut [u8],
) -> io::Result<io::Result<usize>> {
    if let Err(error) = replica.write_all(request).await {
        return Ok(Err(error));
    }
    let (mut from_client, _) = client.split();
    let (mut from_replica, mut to_replica) = replica.split();
    tokio::select! {
        read = from_replica.read(response) => Ok(read),
        left = tokio::io::copy(&mut from_client, &mut to_replica) => match left {
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            // The replica's end of it is broken; the client still waits for a response.
            Err(error) => Ok(Err(error)),
        },
    }
}

/// Reads the head of a request and whatever came with it, and asks for a connection of its own. `None`: the client left.
async fn head(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut received = Vec::new();
    let end = loop {
        if client.read_buf(&mut received).await? == 0 || received.len() > LONGEST_HEAD + (1 << 20) {
            return Ok(None);
        }
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if received.len() > LONGEST_HEAD {
            return Ok(None);
        }
    };
    let mut request = Vec::with_capacity(received.len() + 32);
    for line in received[..end].split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.to_ascii_lowercase().starts_with(b"connection:") {
            request.extend_from_slice(line);
            request.extend_from_slice(b"\r\n");
        }
    }
    request.extend_from_slice(b"Connection: close\r\n");
    request.extend_from_slice(&received[end + 2..]);
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::{Proxy, Replicas};

    /// A replica that reads a request, sends these parts, and closes the connection.
    async fn replica(parts: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                assert!(request.contains("\r\nConnection: close\r\n") && !request.contains("keep-alive"), "{request}");
                for part in parts {
                    stream.write_all(part.as_bytes()).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
            }
        });
        address
    }

    /// An address where nobody listens.
    async fn nobody() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
    }

    async fn response(proxy: &Proxy) -> String {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nconnection: keep-alive\r\n\r\n").await.unwrap();
        let mut response = String::new();
        let read = timeout(Duration::from_secs(20), stream.read_to_string(&mut response)).await;
        read.expect("an end of the response").unwrap();
        response
    }

    #[tokio::test]
    async fn requests_take_turns_and_pass_over_who_does_not_listen() {
        let one = replica(&["HTTP/1.1 200 OK\r\nA: b\r\n\r\none"]).await;
        let other = replica(&["HTTP/1.1 200 OK\r\n", "\r\n", "other", "wise"]).await;
        let replicas = Replicas::new(vec![one, nobody().await, other]);
        let proxy = Proxy::start(std::sync::Arc::clone(&replicas)).await.unwrap();
        for _ in 0..2 {
            assert_eq!(response(&proxy).await, "HTTP/1.1 200 OK\r\nX-Replica: 0\r\nA: b\r\n\r\none");
            assert_eq!(response(&proxy).await, "HTTP/1.1 200 OK\r\nX-Replica: 2\r\n\r\notherwise");
        }
        replicas.moved(1, other);
        response(&proxy).await;
        assert!(response(&proxy).await.contains("X-Replica: 1"));
    }

    #[tokio::test]
    async fn what_was_sent_is_not_sent_again() {
        let good = replica(&["HTTP/1.1 200 OK\r\n\r\n"]).await;
        let proxy = Proxy::start(Replicas::new(vec![replica(&[]).await, good])).await.unwrap();
        assert!(response(&proxy).await.starts_with("HTTP/1.1 502 "));
        assert!(response(&proxy).await.starts_with("HTTP/1.1 200 "));
        let proxy = Proxy::start(Replicas::new(vec![nobody().await, nobody().await])).await.unwrap();
        let refused = response(&proxy).await;
        assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\r\nRetry-After: "), "{refused}");
    }
}
