//! What is attacked: an address of this machine, and the path of the endpoint.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::Result;

#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    path: Arc<str>,
}

impl Target {
    pub(crate) fn local(port: u16) -> Self {
        Target { address: SocketAddr::from(([127, 0, 0, 1], port)), path: "/mcp".into() }
    }

    /// Accepts nothing but loopback: this program is for one's own servers.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("http://").ok_or("`--url` has the form http://127.0.0.1:8080/mcp")?;
        let (authority, path) = rest.find('/').map_or((rest, "/mcp"), |at| rest.split_at(at));
        let address: SocketAddr = authority
            .parse()
            .map_err(|_| format!("`{authority}` is not an address and a port, like 127.0.0.1:8080"))?;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => Ok(Target { address, path: path.into() }),
            other => Err(format!("{other} is not in 127.0.0.0/8; only servers on loopback are attacked").into()),
        }
    }

    /// The head of a POST, up to the lines that differ.
    pub(crate) fn post(&self) -> String {
        format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n",
            self.path, self.address
        )
    }

    /// A GET for the stream of HTTP+SSE, whose path is beside the endpoint's.
    pub(crate) fn get_sse(&self) -> Vec<u8> {
        format!("GET /sse HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n", self.address).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn only_loopback_is_a_target() {
        let target = Target::parse("http://127.0.0.1:8080").unwrap();
        assert!(target.post().starts_with("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"));
        assert!(Target::parse("http://127.1.2.3:80/tools").unwrap().post().starts_with("POST /tools "));
        for url in ["http://10.0.0.1:80/mcp", "http://example.com:80/mcp", "https://127.0.0.1:80", "127.0.0.1:80"] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
    }
}
