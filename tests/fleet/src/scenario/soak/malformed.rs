//! Traffic that no client would send, and clients that leave in the middle of it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Result;

/// How long a server may take to refuse what is complete.
const REFUSAL: Duration = Duration::from_secs(10);

/// What is refused at once, with a status from 400 to 499.
const REFUSED: &[&str] = &[
    "\x16\x03\x01 hello\r\n\r\n",
    "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: example.com\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{\"jsonrpc",
    "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: nobody\r\nConnection: close\r\n\r\n",
];

/// What is never completed: the client leaves.
const BROKEN_OFF: &[&str] = &[
    "",
    "POST /mcp HT",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\":",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"js",
];

pub(super) async fn send_all(address: SocketAddr) -> Result<()> {
    for text in BROKEN_OFF {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(text.as_bytes()).await?;
    }
    for text in REFUSED {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(text.as_bytes()).await?;
        let mut response = [0; 12];
        // Whether a session exists is not known while Redis is away.
        let may_wait = text.contains("Mcp-Session-Id");
        match timeout(REFUSAL, stream.read_exact(&mut response)).await {
            Ok(Ok(_)) if response.starts_with(b"HTTP/1.1 4") => {}
            Ok(Ok(_)) if may_wait && response.ends_with(b" 503") => {}
            Ok(read) => return Err(format!("{text:?}: {read:?} {}", String::from_utf8_lossy(&response)).into()),
            Err(_) => return Err(format!("{text:?} is not refused").into()),
        }
    }
    Ok(())
}
