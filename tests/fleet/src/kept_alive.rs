//! A client whose requests share a connection per replica, as those of a pool do: what is measured is the call.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Result;
use crate::client::{Client, MODERN};

/// A client that calls `greet`, at one replica after the other.
#[derive(Debug)]
pub(crate) struct KeptAlive {
    connections: Vec<TcpStream>,
    requests: Vec<Vec<u8>>,
    turn: usize,
}

impl KeptAlive {
    /// Connects to these replicas, and opens a session at the first of them if the revision has sessions.
    pub(crate) async fn to(replicas: &[SocketAddr], revision: &'static str) -> Result<Self> {
        let mut params = json!({ "name": "greet", "arguments": { "name": "you" } });
        let mut headers = format!("MCP-Protocol-Version: {revision}\r\n");
        if revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            headers.push_str("Mcp-Method: tools/call\r\nMcp-Name: greet\r\n");
        } else {
            let session = Client::open(replicas[0], revision).await?.into_session();
            let _ = write!(headers, "Mcp-Session-Id: {}\r\n", session.ok_or("no session")?);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let (mut connections, mut requests) = (Vec::new(), Vec::new());
        for address in replicas {
            let connection = TcpStream::connect(address).await?;
            connection.set_nodelay(true)?;
            connections.push(connection);
            requests.push(
                format!(
                    "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
                     Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
                    body.len()
                )
                .into_bytes(),
            );
        }
        Ok(KeptAlive { connections, requests, turn: 0 })
    }

    /// Calls at the next replica. An error is anything but the right answer.
    pub(crate) async fn call(&mut self) -> Result<()> {
        self.turn = (self.turn + 1) % self.connections.len();
        let (connection, request) = (&mut self.connections[self.turn], &self.requests[self.turn]);
        connection.write_all(request).await?;
        let mut received = Vec::with_capacity(1024);
        loop {
            if connection.read_buf(&mut received).await? == 0 {
                return Err("the connection broke".into());
            }
            let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let length = length.ok_or_else(|| format!("a response without a length: {head}"))?;
            if received.len() == end + 4 + length {
                let body = String::from_utf8_lossy(&received[end + 4..]);
                let right = head.starts_with("http/1.1 200") && body.contains("Hello, you!");
                return if right { Ok(()) } else { Err(format!("{head}: {body}").into()) };
            }
        }
    }
}
