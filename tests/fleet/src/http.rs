//! One request on a connection of its own, and its response as it comes: JSON, or a stream of events.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a response may take to begin, or a message of it to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A response, of which the head was read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The replica that serves it, as the proxy says.
    pub(crate) replica: Option<usize>,
    pub(crate) session: Option<String>,
    pub(crate) retry_after: bool,
    /// The id of the last event.
    pub(crate) last_event: Option<String>,
    is_stream: bool,
    connection: TcpStream,
    received: Vec<u8>,
    framing: Framing,
    /// The body as far as it was read and not yet consumed.
    body: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Length(usize),
    Chunks,
    Complete,
}

/// Sends a request with these headers, and reads the head of the response.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> io::Result<Reply> {
    let mut request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n"
    );
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    if let Some(body) = body {
        let _ = write!(request, "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    } else {
        request.push_str("\r\n");
    }
    patiently(async {
        let mut connection = TcpStream::connect(address).await?;
        connection.set_nodelay(true)?;
        connection.write_all(request.as_bytes()).await?;
        Reply::read(connection).await
    })
    .await
}

async fn patiently<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "nothing comes")))
}

impl Reply {
    async fn read(mut connection: TcpStream) -> io::Result<Self> {
        let mut received = Vec::new();
        let end = loop {
            if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            more(&mut connection, &mut received).await?;
        };
        let head = String::from_utf8_lossy(&received[..end]).into_owned();
        received.drain(..end);
        let field = |name: &str| {
            let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            fields.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned()))
        };
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let length = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        Ok(Reply {
            status: status.ok_or_else(|| invalid("not the head of a response"))?,
            replica: field("x-replica").and_then(|number| number.parse().ok()),
            session: field("mcp-session-id"),
            retry_after: field("retry-after").is_some(),
            last_event: None,
            is_stream: field("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")),
            connection,
            received,
            framing: if field("transfer-encoding").is_some() { Framing::Chunks } else { Framing::Length(length) },
            body: Vec::new(),
        })
    }

    /// The next message, or `None` at the end. An error is a connection that broke before the end, or silence.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Value>> {
        patiently(self.next_message()).await
    }

    async fn next_message(&mut self) -> io::Result<Option<Value>> {
        loop {
            if self.is_stream
                && let Some(end) = self.body.windows(2).position(|window| window == b"\n\n")
            {
                let event: Vec<u8> = self.body.drain(..end + 2).collect();
                if let Some(message) = self.event(&String::from_utf8_lossy(&event))? {
                    return Ok(Some(message));
                }
                continue;
            }
            if !self.read_body().await? {
                let rest = std::mem::take(&mut self.body);
                let is_message = !self.is_stream && !rest.is_empty();
                return is_message.then(|| serde_json::from_slice(&rest).map_err(io::Error::from)).transpose();
            }
        }
    }

    /// The message in an event, unless it is a comment, or only has an id.
    fn event(&mut self, event: &str) -> io::Result<Option<Value>> {
        let mut data = String::new();
        for line in event.lines() {
            match line.split_once(':').map(|(name, value)| (name, value.strip_prefix(' ').unwrap_or(value))) {
                Some(("id", id)) => self.last_event = Some(id.to_owned()),
                Some(("data", text)) => data.push_str(text),
                _ => {}
            }
        }
        if data.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&data)?)) }
    }

    /// Reads more of the body; false at its end.
    async fn read_body(&mut self) -> io::Result<bool> {
        match self.framing {
            Framing::Complete | Framing::Length(0) => Ok(false),
            Framing::Length(left) => {
                if self.received.is_empty() {
                    more(&mut self.connection, &mut self.received).await?;
                }
                let part = left.min(self.received.len());
                self.body.extend(self.received.drain(..part));
                self.framing = Framing::Length(left - part);
                Ok(true)
            }
            Framing::Chunks => self.read_chunk().await,
        }
    }

    async fn read_chunk(&mut self) -> io::Result<bool> {
        loop {
            if let Some(line) = self.received.windows(2).position(|window| window == b"\r\n") {
                let size = std::str::from_utf8(&self.received[..line]).ok();
                let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
                let size = size.ok_or_else(|| invalid("not the size of a chunk"))?;
                let end = line + 2 + size + 2;
                if self.received.len() >= end {
                    self.body.extend_from_slice(&self.received[line + 2..line + 2 + size]);
                    self.received.drain(..end);
                    if size == 0 {
                        self.framing = Framing::Complete;
                    }
                    return Ok(size > 0);
                }
            }
            more(&mut self.connection, &mut self.received).await?;
        }
    }
}

async fn more(connection: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<()> {
    match connection.read_buf(received).await? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection broke")),
        _ => Ok(()),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
