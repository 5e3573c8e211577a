//! Connecting: what cannot be used is told at once, with what to do; and a server may come later.

use std::io::ErrorKind;
use std::time::Duration;

use mcp_redis::Redis;
use mcp_runtime::protocol::Revision;
use mcp_runtime::store::{SessionRecord, SessionStore as _};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Server, eventually, free_port, patient};

/// Connecting fails with this kind, and a text that has these words.
async fn fails(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = Redis::connect(url).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
    assert!(!text.contains("hunter2"), "the password is told: {text}");
}

/// A listener that answers each connection as told, and its URL.
async fn listener<F: Future<Output = ()> + Send>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            answer(stream).await;
        }
    });
    url
}

#[tokio::test]
async fn invalid_options_are_rejected() {
    for url in ["", "127.0.0.1", "http://127.0.0.1/", "redis://host:port/"] {
        fails(url, ErrorKind::InvalidInput, &["redis://user:password@host:6379/0"]).await;
    }
    for prefix in ["", "a{b}", "ü", "a b"] {
        let error = Redis::builder("redis://127.0.0.1/").prefix(prefix).connect_lazy().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{prefix:?}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let address = format!("127.0.0.1:{}", free_port());
    fails("redis+sentinel://:hunter2@host:26379", ErrorKind::InvalidInput, &["/mymaster/0"]).await;
    fails(&format!("redis://:hunter2@{address}/"), ErrorKind::ConnectionRefused, &[&address, "is it running?"]).await;
}

#[tokio::test]
async fn passwords_are_checked() {
    let server = Server::with(&["--requirepass", "sesame"]).await;
    let url = |user: &str| format!("redis://{user}127.0.0.1:{}/", server.port);
    fails(&url(""), ErrorKind::PermissionDenied, &["password", "redis://user:password@host/"]).await;
    fails(&url(":hunter2@"), ErrorKind::PermissionDenied, &["password", "redis://user:password@host/"]).await;
    let redis = patient(&url(":sesame@")).connect().await.unwrap();
    redis.ping().await.unwrap();
    assert!(!format!("{redis:?}{:?}", Redis::builder(&url(":sesame@"))).contains("sesame"));
}

#[tokio::test]
async fn restricted_user_suffices() {
    let server = Server::start().await;
    // As the error advises.
    for (user, commands) in [("app", "+info"), ("none", "-evalsha")] {
        let rules =
            ["on", ">pw", "~mcp:*", "resetchannels", "&mcp:*", "+@all", "-@admin", "-@dangerous", "+info", commands];
        server.command::<()>(&[&["ACL", "SETUSER", user], &rules[..]].concat()).await;
    }
    let url = |user: &str| format!("redis://{user}:pw@127.0.0.1:{}/", server.port);
    crate::keys::fill(&patient(&url("app")).connect().await.unwrap()).await;
    let error = patient(&url("none")).connect().await.unwrap().secret("state").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("~mcp:* resetchannels &mcp:* +@all -@admin -@dangerous +info"), "{error}");
    let other = patient(&url("app")).prefix("other").connect().await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::PermissionDenied, "a channel of another prefix: {other}");
}

#[tokio::test]
async fn other_services_are_recognized() {
    let web = listener(async |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        let _ = stream.read(&mut [0; 1024]).await;
    });
    fails(&web.await, ErrorKind::Unsupported, &["not Redis", "correct the URL"]).await;
    let silent = listener(async |mut stream| while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {});
    fails(&silent.await, ErrorKind::TimedOut, &["did not answer within 1s"]).await;
}

/// Answers commands as an old server would.
async fn old_server(stream: TcpStream, hello: &str, info: &str) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(words) = line.strip_prefix('*') else { return };
        let mut command = Vec::new();
        for _ in 0..words.parse::<usize>().unwrap() {
            let length: usize = lines.next_line().await.unwrap().unwrap()[1..].parse().unwrap();
            let mut word = vec![0; length + 2];
            lines.get_mut().read_exact(&mut word).await.unwrap();
            command.push(String::from_utf8_lossy(&word[..length]).into_owned());
        }
        let answer = match command[0].as_str() {
            "HELLO" => hello.to_owned(),
            "INFO" => format!("${}\r\n{info}\r\n", info.len()),
            _ => "+OK\r\n".to_owned(),
        };
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn old_servers_are_rejected() {
    let six = listener(async |stream| {
        old_server(stream, "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n", "redis_version:6.0.16\r\n").await;
    });
    fails(&six.await, ErrorKind::Unsupported, &["6.0.16", "too old", "6.2"]).await;
    let five = listener(async |stream| old_server(stream, "-ERR unknown command `HELLO`\r\n", "").await);
    fails(&five.await, ErrorKind::Unsupported, &["too old", "6.2"]).await;
}

#[tokio::test]
async fn demoted_primary_is_not_used_any_more() {
    let server = Server::start().await;
    let redis = server.connect().await;
    server.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let record = SessionRecord::new(Revision::V2025_06_18);
    let error = redis.sessions().create("id", &record, Duration::from_secs(9)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
    assert!(error.to_string().contains("connect to the primary"), "{error}");
    assert!(redis.sessions().load("id").await.is_err(), "it may not be what it was");
    server.command::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    eventually("recovery", async || redis.ping().await.is_ok()).await;
}

#[tokio::test]
async fn lazy_connection_waits_for_its_server() {
    let port = free_port();
    let redis = Redis::connect_lazy(&format!("redis://127.0.0.1:{port}/")).unwrap();
    let error = redis.ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
    assert!(error.to_string().contains("is it running?"), "{error}");
    let _server = Server::on(port, Vec::new()).await.expect("the port is free");
    eventually("a lazy connection", async || redis.ping().await.is_ok()).await;
}

#[test]
fn handle_outlives_its_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Made without a runtime.
    let port = free_port();
    let redis = Redis::connect_lazy(&format!("redis://127.0.0.1:{port}/")).unwrap();
    let first = runtime();
    let _server = first.block_on(Server::on(port, Vec::new())).expect("the port is free");
    for runtime in [first, runtime(), runtime()] {
        runtime.block_on(eventually("a connection in this runtime", async || redis.ping().await.is_ok()));
    }
}
