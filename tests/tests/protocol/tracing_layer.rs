//! The `tracing` layer: events of a handler reach the client that called it, and no other.

use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::testing::TestClient;
use mcp_tests::process::in_own_process;
use tracing_subscriber::prelude::*;

/// Say things in every way.
#[tool]
async fn speak(name: String) {
    tracing::info!(name, loud = true, "at once");
    tokio::time::sleep(Duration::from_millis(5)).await;
    tracing::warn!("later");
    tracing::trace!("in a whisper");
    let span = tracing::info_span!("elsewhere");
    let task = async {
        tracing::error!(code = 7, "in a task");
    };
    tokio::spawn(tracing::Instrument::instrument(task, span)).await.unwrap();
}

/// Say something at once.
#[tool]
fn blurt() {
    tracing::info!("blurted");
}

/// Say something from a thread.
#[tool(blocking)]
fn mutter() {
    tracing::info!("muttered");
}

/// Say too much.
#[tool]
fn babble() {
    for n in 0..100_000 {
        tracing::info!(n, "babble");
    }
}

fn server() -> Server {
    Server::new("speaker", "1.0.0").tools(tools![speak, blurt, mutter, babble])
}

fn texts(logs: &[mcp_runtime::testing::LogMessage]) -> Vec<(LogLevel, &str)> {
    logs.iter().map(|log| (log.level, log.data["message"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn thread_local_subscriber_reaches_the_client() -> Result<()> {
    let server = server();
    let _guard = tracing_subscriber::registry().with(server.tracing_layer()).set_default();
    let client = TestClient::connect(server).await?;
    assert_eq!(texts(client.observe("blurt", json!({})).await?.logs()), [(LogLevel::Info, "blurted")]);
    assert_eq!(texts(client.observe("mutter", json!({})).await?.logs()), [(LogLevel::Info, "muttered")]);
    assert_eq!(client.observe("speak", json!({"name": "eve"})).await?.logs().len(), 4);
    Ok(())
}

/// One subscriber serves every server of a process: hence a process of its own.
#[test]
fn global_subscriber_reaches_the_calling_client() {
    in_own_process("tracing_layer::global_subscriber_reaches_the_calling_client", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(with_global_subscriber()).unwrap();
    });
}

async fn with_global_subscriber() -> Result<()> {
    let first = server();
    tracing_subscriber::registry().with(first.tracing_layer()).init();
    drop(first);
    for revision in Revision::ALL.iter().copied() {
        let server = server();
        let _ = server.tracing_layer();
        let client = TestClient::with_revision(server, revision).await?;
        let call = client.observe("speak", json!({"name": "eve"})).await?;
        let expected = [
            (LogLevel::Info, "at once"),
            (LogLevel::Warning, "later"),
            (LogLevel::Debug, "in a whisper"),
            (LogLevel::Error, "in a task"),
        ];
        assert_eq!(texts(call.logs()), expected, "{revision}");
        assert_eq!(call.logs()[0].data, json!({"message": "at once", "name": "eve", "loud": true}));
        assert_eq!(call.logs()[0].logger.as_deref(), Some("protocol::tracing_layer"));
        assert_eq!(texts(client.observe("blurt", json!({})).await?.logs()), [(LogLevel::Info, "blurted")]);
        assert_eq!(texts(client.observe("mutter", json!({})).await?.logs()), [(LogLevel::Info, "muttered")]);
        tracing::error!("nobody's");
        let babble = client.observe("babble", json!({})).await?;
        assert!(babble.logs().len() <= 1000, "{} messages", babble.logs().len());

        if revision.is_modern() {
            client.call("blurt", json!({})).await?; // without a `logLevel` there are no log messages
        } else {
            client.request("logging/setLevel", json!({"level": "warning"})).await?;
            client.call("blurt", json!({})).await?;
        }
        assert_eq!(client.close().await?, [""; 0], "{revision}");
    }
    Ok(())
}
