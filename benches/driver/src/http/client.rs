//! One connection to a server: HTTP/1.1 as far as these servers speak it, and every answer checked.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{era::Era, tokens::Tokens};
use crate::{Result, work::Tool};

pub struct Client {
    stream: TcpStream,
    address: String,
    era: Era,
    /// The headers of a call, up to its token and its length.
    head: String,
    received: Vec<u8>,
    sent: Vec<u8>,
    tokens: Tokens,
}

/// The parts of a response the driver uses.
struct Response {
    status: u16,
    session: Option<String>,
    message: Option<Value>,
}

impl Client {
    /// Connects, and opens a session where the era has them.
    pub async fn connect(address: &str, era: Era, tokens: Tokens) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (received, sent) = (Vec::with_capacity(4096), Vec::with_capacity(1024));
        let mut client = Self { stream, address: address.to_owned(), era, head: String::new(), received, sent, tokens };
        match era {
            Era::Modern => client.head = client.head_with(&era.headers(None)),
            Era::Legacy => client.open_session().await?,
        }
        Ok(client)
    }

    /// Opens a session; the next calls belong to it.
    pub async fn open_session(&mut self) -> Result<()> {
        let who = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": self.era.revision(), "capabilities": {}, "clientInfo": who });
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        self.head = self.head_with("");
        let response = self.exchange(&request.to_string()).await?;
        let message = response.message.ok_or("`initialize` was not answered")?;
        if message["result"]["protocolVersion"] != self.era.revision() {
            return Err(format!("the server does not speak {}: {message}", self.era).into());
        }
        self.head = self.head_with(&self.era.headers(response.session.as_deref()));
        let status = self.exchange(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?.status;
        if (200..300).contains(&status) { Ok(()) } else { Err(format!("`initialized` got a {status}").into()) }
    }

    /// Calls `add` and checks the answer.
    pub async fn call(&mut self, id: u64) -> Result<()> {
        let response = self.exchange(&self.era.call(id).to_string()).await?;
        let message = response.message.ok_or_else(|| format!("no answer, status {}", response.status))?;
        if response.status != 200 || message["id"] != id {
            return Err(format!("expected the answer to {id}: {} {message}", response.status).into());
        }
        Tool::Add.verify(id, &message)
    }

    fn head_with(&self, headers: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nUser-Agent: bench/1\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n{headers}",
            self.address
        )
    }

    /// One request in one write, and its response.
    async fn exchange(&mut self, body: &str) -> Result<Response> {
        self.sent.clear();
        self.sent.extend_from_slice(self.head.as_bytes());
        if let Some(token) = self.tokens.next() {
            self.sent.extend_from_slice(b"Authorization: Bearer ");
            self.sent.extend_from_slice(token.as_bytes());
            self.sent.extend_from_slice(b"\r\n");
        }
        self.sent.extend_from_slice(b"Content-Length: ");
        self.sent.extend_from_slice(body.len().to_string().as_bytes());
        self.sent.extend_from_slice(b"\r\n\r\n");
        self.sent.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.sent).await?;

        self.received.clear();
        let head_end = loop {
            if let Some(at) = find(&self.received, b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head = std::str::from_utf8(&self.received[..head_end])?;
        let field = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let status = head.get(9..12).and_then(|code| code.parse().ok()).ok_or("no status")?;
        let (session, chunked) = (field("mcp-session-id"), field("transfer-encoding").is_some());
        let length = field("content-length").map_or(Ok(0), |length| length.parse::<usize>())?;
        let content = if chunked {
            self.chunks(head_end).await?
        } else {
            while self.received.len() < head_end + length {
                self.more().await?;
            }
            self.received[head_end..].to_vec()
        };
        Ok(Response { status, session, message: message(&content)? })
    }

    async fn chunks(&mut self, mut at: usize) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let size_end = loop {
                if let Some(end) = find(&self.received[at..], b"\r\n") {
                    break at + end;
                }
                self.more().await?;
            };
            let size = usize::from_str_radix(std::str::from_utf8(&self.received[at..size_end])?, 16)?;
            let start = size_end + 2;
            while self.received.len() < start + size + 2 {
                self.more().await?;
            }
            content.extend_from_slice(&self.received[start..start + size]);
            if size == 0 {
                return Ok(content);
            }
            at = start + size + 2;
        }
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The message in a body: the body itself, or what the last event with anything in it carries.
fn message(content: &[u8]) -> Result<Option<Value>> {
    let text = std::str::from_utf8(content)?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if text.starts_with('{') {
        return Ok(Some(serde_json::from_str(text)?));
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let last = data.filter(|data| !data.is_empty()).last();
    Ok(last.map(serde_json::from_str).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn reads_bodies_and_events() {
        let read = |text: &str| message(text.as_bytes()).unwrap().map(|value| value["id"].as_u64());
        assert_eq!(read(""), None);
        assert_eq!(read(r#"{"id":1}"#), Some(Some(1)));
        assert_eq!(read("id: 0\ndata:\nretry: 3000\n\ndata: {\"id\":2}\n\n"), Some(Some(2)));
    }
}
