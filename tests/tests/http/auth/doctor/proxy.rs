//! [`Deployment`]: a server of ours with an authorization server, behind a proxy that may spoil what passes through.

use std::sync::Arc;

use mcp_runtime::auth::Auth;
use mcp_runtime::auth::doctor::{Check, Diagnosis, Doctor, Status};
use mcp_tests::fake_issuer::{FakeIssuer, Faults};
use mcp_tests::http::Site;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request, as far as proxies look at it.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) has_token: bool,
}

impl Asked {
    /// Whether it is a message without a token.
    pub(super) fn is_anonymous(&self) -> bool {
        self.method == "POST" && !self.has_token && self.path == "/mcp"
    }

    pub(super) fn is_document(&self) -> bool {
        self.path.starts_with("/.well-known/oauth-protected-resource")
    }

    pub(super) fn is_path_form(&self) -> bool {
        self.path == "/.well-known/oauth-protected-resource/mcp"
    }
}

/// A response on its way to the client.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn become_page(&mut self, status: u16) {
        *self = Answer { status, headers: Vec::new(), body: "<!DOCTYPE html><title>Welcome</title>".to_owned() };
        self.set("Content-Type", "text/html; charset=utf-8");
    }
}

type Edit = Arc<dyn Fn(&Asked, &mut Answer) + Send + Sync>;

/// What is deployed.
pub(super) struct Deployment {
    pub(super) issuer: FakeIssuer,
    /// The URL that people type: that of the proxy.
    pub(super) url: String,
    _site: Site,
    proxy: JoinHandle<()>,
}

impl Drop for Deployment {
    fn drop(&mut self) {
        self.proxy.abort();
    }
}

impl Deployment {
    /// One in order.
    pub(super) async fn healthy() -> Self {
        Self::with(|_, _| {}).await
    }

    /// One behind a proxy that spoils responses.
    pub(super) async fn with(edit: impl Fn(&Asked, &mut Answer) + Send + Sync + 'static) -> Self {
        Self::of(|issuer, url| Auth::jwt(issuer).resource(url).scopes(["notes:read"]), None, edit).await
    }

    /// One with this authorization, and a proxy that sends this `Host`.
    pub(super) async fn of(
        auth: impl FnOnce(&str, &str) -> Auth,
        host: Option<&'static str>,
        edit: impl Fn(&Asked, &mut Answer) + Send + Sync + 'static,
    ) -> Self {
        let issuer = FakeIssuer::start().await;
        issuer.fail(complete());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let site = Site::serving(crate::auth::server().into_service().authorize(auth(&issuer.url, &url))).await;
        let (upstream, edit): (_, Edit) = (site.address, Arc::new(edit));
        let proxy = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, upstream, host, Arc::clone(&edit)));
            }
        });
        Deployment { issuer, url, _site: site, proxy }
    }

    /// What can be seen with the URL alone.
    pub(super) async fn examine(&self) -> Diagnosis {
        Doctor::new(&self.url).examine().await
    }
}

/// An authorization server at which clients can register.
pub(super) fn complete() -> Faults {
    Faults { metadata: json!({"client_id_metadata_document_supported": true}), ..Faults::default() }
}

async fn pass(mut client: TcpStream, upstream: std::net::SocketAddr, host: Option<&str>, edit: Edit) -> Option<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).next()
    };
    let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        if client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let asked = Asked { method, path, has_token: header("authorization").is_some() };
    let mut lines: Vec<String> = head.trim_end().lines().map(str::to_owned).collect();
    if let Some(host) = host {
        lines.retain(|line| !line.to_ascii_lowercase().starts_with("host:"));
        lines.push(format!("Host: {host}"));
    }
    lines.push("Connection: close\r\n\r\n".to_owned());
    let mut server = TcpStream::connect(upstream).await.ok()?;
    server.write_all(lines.join("\r\n").as_bytes()).await.ok()?;
    server.write_all(&bytes[end..]).await.ok()?;
    let mut response = Vec::new();
    server.read_to_end(&mut response).await.ok()?;
    let mut answer = read(&String::from_utf8(response).unwrap());
    edit(&asked, &mut answer);
    let fields: String = answer.headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let length = answer.body.len();
    let head = format!("HTTP/1.1 {} X\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n", answer.status);
    client.write_all((head + &answer.body).as_bytes()).await.ok()
}

fn read(response: &str) -> Answer {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut answer = Answer { status, headers: headers.collect(), body: body.to_owned() };
    assert!(!answer.headers.iter().any(|(name, _)| name == "transfer-encoding"), "{answer:?}");
    answer.remove("content-length");
    answer.remove("connection");
    answer
}

/// Asserts that there is a finding with these words about what was seen and what to do.
#[track_caller]
pub(super) fn found(diagnosis: &Diagnosis, check: Check, status: Status, words: &str, remedy: &str) {
    let is_it = |finding: &&mcp_runtime::auth::doctor::Finding| {
        let told = finding.remedy.as_deref().unwrap_or_default();
        finding.check == check && finding.status == status && finding.seen.contains(words) && told.contains(remedy)
    };
    assert!(
        diagnosis.findings.iter().any(|finding| is_it(&finding)),
        "{check} {status} {words:?} {remedy:?}:\n{diagnosis}"
    );
    assert_eq!(diagnosis.is_healthy(), diagnosis.count(Status::Failure) == 0);
}
