//! `proxy ADDRESS…` sends each request to the next of these addresses that accepts a connection: a stand-in for any load
//! balancer. It has no affinity, and knows nothing of MCP.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const BAD_GATEWAY: &[u8] =
    b"HTTP/1.1 502 Bad Gateway\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

#[tokio::main]
async fn main() -> io::Result<()> {
    let replicas: Arc<[String]> = env::args().skip(1).collect();
    let turn = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    loop {
        let (client, _) = listener.accept().await?;
        let (replicas, turn) = (Arc::clone(&replicas), Arc::clone(&turn));
        tokio::spawn(async move {
            let _ = forward(client, &replicas, &turn).await;
        });
    }
}

/// Forwards one request and its response, as they come. Then both connections are closed, so that each request is a choice.
async fn forward(mut client: TcpStream, replicas: &[String], turn: &AtomicUsize) -> io::Result<()> {
    let mut request = Vec::new();
    let head = loop {
        if client.read_buf(&mut request).await? == 0 || request.len() > 1 << 20 {
            return Ok(());
        }
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    request.splice(head..head, *b"\r\nConnection: close");
    let Some(mut replica) = connect(replicas, turn).await else { return client.write_all(BAD_GATEWAY).await };
    let ((mut from_client, mut to_client), (mut from_replica, mut to_replica)) = (client.split(), replica.split());
    let mut response = vec![0; 16 * 1024];
    let begun = async {
        to_replica.write_all(&request).await?;
        tokio::select! {
            begun = from_replica.read(&mut response) => begun,
            // the rest of a body; its end is the client's, who leaves
            left = tokio::io::copy(&mut from_client, &mut to_replica) => left.and(Err(io::ErrorKind::UnexpectedEof.into())),
        }
    };
    let Ok(length @ 1..) = begun.await else {
        // The client is told that the replica has died, rather than sent to another one, which might do the same again.
        return to_client.write_all(BAD_GATEWAY).await;
    };
    to_client.write_all(&response[..length]).await?;
    tokio::select! {
        copied = tokio::io::copy(&mut from_replica, &mut to_client) => copied,
        left = tokio::io::copy(&mut from_client, &mut to_replica) => left,
    }
    .map(drop)
}

/// A connection to the next replica that accepts one. Nothing was sent yet, so trying another is safe.
async fn connect(replicas: &[String], turn: &AtomicUsize) -> Option<TcpStream> {
    for _ in replicas {
        let next = &replicas[turn.fetch_add(1, Ordering::Relaxed) % replicas.len()];
        if let Ok(connection) = TcpStream::connect(next).await {
            return Some(connection);
        }
    }
    None
}
