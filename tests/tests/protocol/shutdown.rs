//! Shutdown of a server, by the program or by the client, while it is busy: no response is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Limits, Revision, prelude::*};
use serde_json::Value;

/// Work where the message was read.
#[tool]
fn work(ms: u64) -> String {
    std::thread::sleep(Duration::from_millis(ms));
    format!("worked {ms}")
}

/// A note.
#[resource("note://{id}", subscribe)]
fn note(id: u64) -> String {
    format!("note {id}")
}

/// Change a note.
#[tool]
fn write(ctx: &Context, id: u64) {
    ctx.server().resource_updated(format!("note://{id}"));
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("this takes too long")
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Waits until the flag is set.
async fn is_set(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        pause(1).await;
    }
}

/// A tool that sets a flag when it begins, and then works where the message was read.
struct Worker(Arc<AtomicBool>);

#[handlers]
impl Worker {
    /// Work.
    #[tool]
    fn work(&self, ms: u64) -> String {
        self.0.store(true, Ordering::SeqCst);
        work(ms)
    }
}

#[tokio::test]
async fn shutdown_waits_for_a_running_sync_handler() -> Result<()> {
    let begun = Arc::new(AtomicBool::new(false));
    let server = Server::new("worker", "1.0.0").mount(Worker(Arc::clone(&begun)));
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let call = client.start("work", json!({"ms": 300}))?;
    soon(is_set(&begun)).await;
    soon(handle.shutdown()).await;
    assert_eq!(soon(call.result()).await?.text(), "worked 300");
    Ok(())
}

#[tokio::test]
async fn shutdown_answers_every_request_already_read() -> Result<()> {
    let begun = Arc::new(AtomicBool::new(false));
    let server = Server::new("worker", "1.0.0").mount(Worker(Arc::clone(&begun)));
    let handle = server.handle();
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    let requests: Vec<String> = (100..120)
        .map(|id| {
            let params = json!({"name": "work", "arguments": {"ms": 10}});
            format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
        })
        .collect();
    // Written at once, and shorter than the buffer: when the first is served, all have been read.
    client.send_bytes(requests.concat())?;
    soon(is_set(&begun)).await;
    soon(handle.shutdown()).await;
    let answers = soon(client.close()).await?;
    assert_eq!(answers.len(), 20, "{answers:#?}");
    Ok(())
}

#[tokio::test]
async fn changes_before_eof_are_still_sent() -> Result<()> {
    for round in 0..50 {
        let server = Server::new("notes", "1.0.0").tools(tools![write]).resources(resources![note]);
        let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
        client.request("resources/subscribe", json!({"uri": "note://1"})).await?;
        let params = json!({"name": "write", "arguments": {"id": 1}});
        client.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}).to_string())?;
        let rest = soon(client.close()).await?;
        assert!(rest.iter().any(|line| line.contains("resources/updated")), "{round}: {rest:?}");
    }
    Ok(())
}

/// Sets a flag when it is dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn abort_drops_notification_handlers() -> Result<()> {
    let gone = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicBool::new(false));
    let server = Server::new("listener", "1.0.0").notification("test.example/wait", {
        let (gone, begun) = (Arc::clone(&gone), Arc::clone(&begun));
        move |_, (): ()| {
            let gone = Gone(Arc::clone(&gone));
            begun.store(true, Ordering::SeqCst);
            async move {
                std::future::pending::<()>().await;
                drop(gone);
                Ok(())
            }
        }
    });
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    client.notify("test.example/wait", &json!({}))?;
    soon(is_set(&begun)).await;
    handle.abort();
    soon(handle.shutdown()).await;
    soon(is_set(&gone)).await;
    drop(client);
    Ok(())
}

#[tokio::test]
async fn server_timeout_applies_to_notification_handlers() -> Result<()> {
    let gone = Arc::new(AtomicBool::new(false));
    let server =
        Server::new("listener", "1.0.0").timeout(Duration::from_millis(20)).notification("test.example/wait", {
            let gone = Arc::clone(&gone);
            move |_, (): ()| {
                let gone = Gone(Arc::clone(&gone));
                async move {
                    std::future::pending::<()>().await;
                    drop(gone);
                    Ok(())
                }
            }
        });
    let client = TestClient::connect(server).await?;
    client.notify("test.example/wait", &json!({}))?;
    soon(is_set(&gone)).await;
    Ok(())
}

#[tokio::test]
async fn call_that_starts_shutdown_gets_its_response() -> Result<()> {
    /// Stop the server.
    #[tool]
    async fn stop(ctx: &Context) -> &'static str {
        tokio::task::yield_now().await;
        ctx.server().start_shutdown();
        "stopping"
    }
    /// Stop the server where the message was read.
    #[tool]
    fn stop_here(ctx: &Context) -> &'static str {
        ctx.server().start_shutdown();
        "stopping"
    }
    for tool in ["stop", "stop_here"] {
        let server = Server::new("stopper", "1.0.0").tools(tools![stop, stop_here]);
        let handle = server.handle();
        let client = TestClient::connect(server).await?;
        let begun = Instant::now();
        assert_eq!(soon(client.call(tool, json!({}))).await?.text(), "stopping");
        soon(handle.shutdown()).await;
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
    Ok(())
}

/// A tool whose state runs a closure when it is dropped.
fn silent(dropped: impl Fn() + Send + Sync + 'static) -> mcp_runtime::Tool {
    struct OnDrop<F: Fn()>(F);
    impl<F: Fn()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    /// Say nothing.
    #[tool]
    fn silent() {}
    let state = OnDrop(dropped);
    let [tool] = tools![silent];
    tool.visible_if(move |_| {
        let _ = &state;
        true
    })
}

#[tokio::test]
async fn removed_tool_may_use_the_handle_in_drop() -> Result<()> {
    let server = Server::new("plugins", "1.0.0").tools(tools![work]);
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    assert_eq!(client.list_tools().await?.len(), 1);
    let other = handle.clone();
    handle.tools().add([silent(move || {
        assert!(other.tools().disable("work"));
    })])?;
    let removing = tokio::task::spawn_blocking({
        let handle = handle.clone();
        move || handle.tools().remove("silent")
    });
    assert!(soon(removing).await?);
    assert_eq!(client.list_tools().await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn removed_tool_may_panic_in_drop() -> Result<()> {
    let server = Server::new("plugins", "1.0.0").tools(tools![work]);
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    handle.tools().add([silent(|| panic!("on purpose"))])?;
    assert_eq!(client.list_tools().await?.len(), 2);
    assert!(handle.tools().remove("silent"));
    assert_eq!(client.list_tools().await?.len(), 1);
    assert_eq!(client.call("work", json!({"ms": 0})).await?.text(), "worked 0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_notification_follows_the_response_under_load() -> Result<()> {
    /// Leave somebody talking.
    #[tool]
    async fn leave(ctx: &Context) {
        for _ in 0..4 {
            let ctx = ctx.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    ctx.log(mcp_runtime::protocol::LogLevel::Error, ctx.request_id()).await;
                }
            });
        }
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }
    let mut limits = Limits::default();
    limits.log_rate = u32::MAX;
    let server = Server::new("leaver", "1.0.0").tools(tools![leave]).limits(limits);
    let client = TestClient::with_revision(server, Revision::V2025_11_25).await?;
    for id in 1000..2000 {
        let params = json!({"name": "leave"});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string())?;
    }
    let mut answered = std::collections::HashSet::new();
    let mut refused = 0;
    while answered.len() < 1000 {
        // Not `soon`: the answers wait for their turn among thousands of tasks that only yield.
        let line = tokio::time::timeout(Duration::from_secs(2 * 60), client.receive()).await;
        let line: Value = serde_json::from_str(&line.expect("no message in two minutes")?)?;
        match line["id"].as_u64() {
            Some(id) => {
                refused += u64::from(line["error"].is_object());
                assert!(answered.insert(id), "a second response: {line}");
            }
            None => {
                let id: u64 = line["params"]["data"].as_str().unwrap_or("0").parse()?;
                assert!(!answered.contains(&id), "after the response: {line}");
            }
        }
    }
    assert!(refused < 1000);
    Ok(())
}

#[tokio::test]
async fn shutdown_drains_calls_and_abort_drops_them() -> Result<()> {
    static RUNNING: AtomicBool = AtomicBool::new(false);
    /// Sleep so many milliseconds.
    #[tool]
    async fn sleep(ms: u64) -> String {
        RUNNING.store(true, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        format!("slept {ms}")
    }
    for (ms, aborts) in [(100, false), (60_000, true)] {
        RUNNING.store(false, Ordering::SeqCst);
        let server = Server::new("sleeper", "1.0.0").tools(tools![sleep]);
        let handle = server.handle();
        let client = TestClient::connect(server).await?;
        let call = client.call("sleep", json!({"ms": ms}));
        let end = async {
            soon(is_set(&RUNNING)).await;
            if aborts {
                handle.abort();
                handle.abort();
            }
            soon(handle.shutdown()).await;
            soon(handle.shutdown()).await;
            assert!(handle.is_shutting_down());
        };
        let (call, ()) = tokio::join!(soon(call), end);
        match call {
            Ok(answer) => assert!(!aborts && answer.text() == "slept 100", "{}", answer.text()),
            Err(error) => assert!(aborts, "{error}"),
        }
        assert!(soon(client.call("sleep", json!({"ms": 0}))).await.is_err(), "nothing new begins");
    }
    Ok(())
}
