//! The hooks of a server: `on_initialized`, `on_disconnected`, `on_protocol_error`, `on_transport_error`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::hooks::DisconnectReason;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_tests::with_sessions;

/// Say hello.
#[tool]
fn hello() {}

/// What the hooks were called with, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn say(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn wait_for(&self, count: usize) -> Vec<String> {
        for _ in 0..1000 {
            if self.all().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.all()
    }
}

fn server(told: &Told) -> Server {
    let (initialized, disconnected, protocol, transport) = (told.clone(), told.clone(), told.clone(), told.clone());
    Server::new("told", "1.0.0")
        .tools(tools![hello])
        .on_initialized(move |peer| {
            initialized.say(format!("{} at {}", peer.name().unwrap_or("nobody"), peer.revision()));
        })
        .on_disconnected(move |reason| disconnected.say(format!("{reason:?}")))
        .on_transport_error(move |error| transport.say(format!("failed: {error}")))
        .on_protocol_error(move |error| protocol.say(format!("{} {}", error.code(), error.received())))
        .notification("told.example/greet", |ctx: Context, (name,): (String,)| async move {
            assert!(!name.is_empty(), "a panic stays here");
            ctx.log(mcp_runtime::protocol::LogLevel::Error, format!("hello {name}")).await;
            Err(Error::msg(format!("{name} is unknown")))
        })
}

#[tokio::test]
async fn session_calls_on_initialized_and_on_disconnected() -> Result<()> {
    for revision in with_sessions() {
        let told = Told::default();
        let client = TestClient::with_revision(server(&told), revision).await?;
        client.notify("initialized", &json!({}))?; // once is enough
        client.call("hello", json!({})).await?;
        client.close().await?;
        assert_eq!(told.all(), [format!("test-client at {revision}"), "Eof".to_owned()]);
    }
    Ok(())
}

#[tokio::test]
async fn bare_initialized_calls_on_initialized() -> Result<()> {
    let told = Told::default();
    let client = TestClient::connect_raw(server(&told));
    client.notify("initialized", &json!({}))?; // before its time: nothing
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
    client.exchange(hello).await?;
    client.notify("initialized", &json!({}))?;
    client.close().await?;
    assert_eq!(told.all(), ["nobody at 2024-11-05", "Eof"]);
    Ok(())
}

#[tokio::test]
async fn modern_client_does_not_call_on_initialized() -> Result<()> {
    let told = Told::default();
    let client = TestClient::connect(server(&told)).await?;
    client.call("hello", json!({})).await?;
    client.close().await?;
    assert_eq!(told.all(), ["Eof"]);
    Ok(())
}

#[tokio::test]
async fn malformed_messages_call_on_protocol_error() -> Result<()> {
    let told = Told::default();
    let client = TestClient::connect(server(&told)).await?;
    client.exchange("nonsense").await?;
    client.exchange(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#).await?;
    client.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)?;
    client.notify("unknown", &json!({}))?; // ignored, not wrong
    client.close().await?;
    let expected = [
        "-32700 nonsense",
        r#"-32600 {"jsonrpc":"1.0","id":1,"method":"x"}"#,
        r#"-32600 {"jsonrpc":"2.0","id":1,"result":{}}"#,
        "Eof",
    ];
    assert_eq!(told.all(), expected);
    Ok(())
}

#[tokio::test]
async fn notification_errors_call_on_protocol_error_only() -> Result<()> {
    let told = Told::default();
    let client = TestClient::with_revision(server(&told), Revision::V2025_11_25).await?;
    client.send(r#"{"jsonrpc":"2.0","method":"told.example/greet","params":["eve"]}"#)?;
    assert!(client.receive().await?.contains("hello eve"));
    told.wait_for(2).await;
    client.send(r#"{"jsonrpc":"2.0","method":"told.example/greet","params":[""]}"#)?;
    client.send(r#"{"jsonrpc":"2.0","method":"told.example/greet","params":7}"#)?;
    told.wait_for(4).await;
    assert_eq!(client.close().await?, [""; 0]);
    let mut told = told.all();
    assert_eq!(told.pop().unwrap(), "Eof");
    told.sort();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told.iter().filter(|text| text.starts_with("-326")).count(), 3, "{told:?}");
    Ok(())
}

#[tokio::test]
async fn on_disconnected_gets_the_reason() -> Result<()> {
    let told = Told::default();
    let served = server(&told);
    let handle = served.handle();
    let client = TestClient::connect(served).await?;
    client.call("hello", json!({})).await?;
    handle.shutdown().await;
    assert_eq!(told.all(), ["Shutdown"]);
    assert!(matches!(DisconnectReason::Shutdown, DisconnectReason::Shutdown));
    Ok(())
}

#[tokio::test]
async fn panicking_hooks_do_not_end_the_connection() -> Result<()> {
    let server = Server::new("told", "1.0.0")
        .tools(tools![hello])
        .on_protocol_error(|_| panic!("on purpose"))
        .on_initialized(|_| panic!("on purpose"))
        .on_disconnected(|_| panic!("on purpose"));
    let client = TestClient::with_revision(server, Revision::V2025_03_26).await?;
    assert!(client.exchange("nonsense").await?.contains("-32700"));
    client.call("hello", json!({})).await?;
    client.close().await?;
    Ok(())
}
