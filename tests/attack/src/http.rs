//! One HTTP/1.1 connection whose bytes the caller controls, from an address of its choice.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::target::Target;

/// The longest response that is read.
const LONGEST: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    length: Option<usize>,
    chunked: bool,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(target: &Target, from: IpAddr) -> io::Result<Self> {
        Self::connect(socket(from)?, target).await
    }

    /// A connection that takes little before its reader reads.
    pub(crate) async fn open_narrow(target: &Target, from: IpAddr) -> io::Result<Self> {
        let socket = socket(from)?;
        socket.set_recv_buffer_size(4096)?;
        Self::connect(socket, target).await
    }

    async fn connect(socket: TcpSocket, target: &Target) -> io::Result<Self> {
        let stream = socket.connect(target.address).await?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream, received: Vec::new() })
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends, and reads the response. A server may refuse a long message before all of it was sent, so that writing fails
    /// or never ends while the response is there.
    pub(crate) async fn exchange(&mut self, bytes: &[u8]) -> io::Result<Response> {
        let Wire { stream, received } = self;
        let (reading, mut writing) = stream.split();
        let early = async {
            loop {
                reading.readable().await?;
                match reading.try_read_buf(received) {
                    Ok(0) => return Err(closed()),
                    Ok(_) => return Ok(()),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        };
        tokio::select! {
            biased;
            // An error of writing is one of reading, too, unless there is a response.
            _ = writing.write_all(bytes) => {}
            read = early => read?,
        }
        self.response().await
    }

    /// Whether there is a part of a response.
    pub(crate) fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    pub(crate) async fn head(&mut self) -> io::Result<Head> {
        let end = loop {
            if let Some(at) = find(&self.received, b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head: Vec<u8> = self.received.drain(..end).collect();
        Head::parse(&head).ok_or_else(|| invalid("not the head of a response"))
    }

    pub(crate) async fn response(&mut self) -> io::Result<Response> {
        let head = self.head().await?;
        let body = if head.chunked {
            self.chunks().await?
        } else {
            let length = head.length.unwrap_or(0);
            self.exactly(length).await?
        };
        Ok(Response { head, body })
    }

    /// Reads and forgets until the server closes the connection.
    pub(crate) async fn drain(&mut self) {
        let mut scrap = [0; 4096];
        while matches!(self.stream.read(&mut scrap).await, Ok(1..)) {}
    }

    /// Reads at most that many bytes and forgets them; false when the server has closed the connection.
    pub(crate) async fn sip(&mut self, bytes: usize) -> bool {
        let mut scrap = [0; 4096];
        let most = bytes.min(scrap.len());
        matches!(self.stream.read(&mut scrap[..most]).await, Ok(1..))
    }

    /// Waits for the server's first word: its status, or `None` if it just closes the connection.
    pub(crate) async fn verdict(&mut self) -> Option<u16> {
        self.head().await.ok().map(|head| head.status)
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let end = loop {
                if let Some(at) = find(&self.received, b"\r\n") {
                    break at;
                }
                self.more().await?;
            };
            let line = self.received.drain(..end + 2).collect::<Vec<_>>();
            let size = std::str::from_utf8(&line).ok().and_then(|line| usize::from_str_radix(line.trim(), 16).ok());
            let size = size.filter(|size| content.len() + size <= LONGEST).ok_or_else(|| invalid("a chunk's size"))?;
            content.extend_from_slice(&self.exactly(size + 2).await?[..size]);
            if size == 0 {
                return Ok(content);
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        if count > LONGEST {
            return Err(invalid("too long a response"));
        }
        while self.received.len() < count {
            self.more().await?;
        }
        Ok(self.received.drain(..count).collect())
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(closed()),
            _ => Ok(()),
        }
    }
}

impl Head {
    fn parse(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let field = |name: &str| {
            let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            fields.into_iter().find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value.trim()))
        };
        Some(Head {
            status: head.get(9..12)?.parse().ok()?,
            session: field("mcp-session-id").map(Into::into),
            length: field("content-length").and_then(|length| length.parse().ok()),
            chunked: field("transfer-encoding").is_some(),
        })
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn socket(from: IpAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    Ok(socket)
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::Wire;
    use crate::target::Target;

    /// What the client makes of a server that reads one byte, sends this, and then stays or closes the connection.
    async fn reads(answer: &'static [u8], stays: bool, sends: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::local(listener.local_addr().unwrap().port());
        let server = tokio::spawn(async move {
            let (mut stream, peer) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(answer).await.unwrap();
            (peer.ip(), stays.then_some(stream))
        });
        let from = IpAddr::from(Ipv4Addr::new(127, 0, 0, 9));
        let mut wire = Wire::open(&target, from).await.unwrap();
        let response = timeout(Duration::from_secs(20), wire.exchange(sends)).await.expect("an end of the exchange");
        assert_eq!(server.await.unwrap().0, from);
        response.map(|response| (response.head.status, response.body))
    }

    #[tokio::test]
    async fn responses_are_read_whole() {
        let whole = reads(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", true, b"x").await.unwrap();
        assert_eq!(whole, (200, b"hi".to_vec()));
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n";
        assert_eq!(reads(chunks, true, b"x").await.unwrap(), (200, b"hi!".to_vec()));
        assert!(reads(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", false, b"x").await.is_err());
    }

    /// The server never reads this much: the response comes while it is being sent.
    #[tokio::test]
    async fn early_refusal_is_read() {
        let long = vec![b'x'; 32 * 1024 * 1024];
        let refused = reads(b"HTTP/1.1 413 Too Long\r\ncontent-length: 0\r\n\r\n", true, &long).await.unwrap();
        assert_eq!(refused, (413, Vec::new()));
    }
}
