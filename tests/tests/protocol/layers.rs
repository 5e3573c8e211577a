//! Layers around calls: what they see, change and answer, in every revision. Those of attributes are in
//! `macros/layers.rs`, asks and tasks in `ask_and_task/layers.rs`, the ready ones in `ready_layers.rs`.
#![allow(clippy::unused_async, reason = "the shapes of handlers are what is tested, not what they do")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::layers::{Call, CallKind, ErrorKind, Layer, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, PromptResult, ReadResult, ResourceContents};
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Json, Revision, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Double a number.
#[tool(read_only)]
fn double(#[arg(max = 100)] number: u32) -> u32 {
    number * 2
}

/// Double a number, later.
#[tool]
async fn double_later(number: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(1)).await;
    number * 2
}

/// Double a number on a thread.
#[tool(blocking)]
fn double_slowly(number: u32) -> u32 {
    number * 2
}

/// Fails.
#[tool]
fn fail(how: String) -> Result<ToolResult> {
    match &*how {
        "is_error" => Ok(ToolResult::error("it is an error")),
        "protocol" => Err(Error::invalid_params("not so").with_data(json!({"a": 1}))),
        "panic" => panic!("as asked"),
        _ => Err(std::io::Error::other("disk full").into()),
    }
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: u32,
}

/// Add.
#[tool]
fn add(a: u32, b: u32) -> Json<Sum> {
    Json(Sum { sum: a + b })
}

fn colours(typed: &str) -> Vec<&'static str> {
    ["red", "green", "grey"].into_iter().filter(|colour| colour.starts_with(typed)).collect()
}

/// Paint something.
#[prompt]
fn paint(#[arg(complete = colours)] colour: String) -> String {
    format!("Paint it {colour}.")
}

/// The motto.
#[resource("note://motto")]
fn motto() -> &'static str {
    "slow and steady"
}

/// A note.
#[resource("note://{id}")]
fn note(id: u32) -> String {
    format!("note {id}")
}

/// A note by its name.
#[resource("note://{name}/named")]
async fn named(name: String) -> String {
    format!("the note {name}")
}

fn server() -> Server {
    Server::new("layered", "1.0.0")
        .tools(tools![double, double_later, double_slowly, fail, add])
        .prompts(prompts![paint])
        .resources(resources![motto, note, named])
        .method("tests.example/half", |_, number: Half| async move { Ok(number.of / 2) })
}

#[derive(serde::Deserialize)]
struct Half {
    of: u32,
}

/// What layers have seen.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A layer that notes what goes in and what comes out.
    fn layer(&self, name: &'static str) -> impl Layer + use<> {
        let seen = self.clone();
        move |call: Call, next: Next| {
            let seen = seen.clone();
            async move {
                seen.note(format!("{name} {} {} {}", call.kind().as_str(), call.name(), call.arguments()));
                let outcome = next.run(call).await;
                seen.note(format!("{name} {}", if outcome.is_error() { "failed" } else { "done" }));
                outcome
            }
        }
    }
}

#[tokio::test]
async fn layers_surround_every_kind_of_call_in_order() -> Result<()> {
    for &revision in Revision::ALL {
        let seen = Seen::default();
        // Added before the handlers and after them.
        let server = Server::new("order", "1.0.0").layer(seen.layer("outer")).tools(tools![double]);
        let server = server.tools([tools![fail].into_iter().next().unwrap().layer(seen.layer("own"))]);
        let client = TestClient::with_revision(server.layer(seen.layer("inner")), revision).await?;
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
        assert_eq!(
            seen.take(),
            ["outer tool double {\"number\":4}", "inner tool double {\"number\":4}", "inner done", "outer done"],
            "{revision}"
        );
        assert!(client.call("fail", json!({"how": ""})).await?.is_error());
        let order: Vec<String> = seen.take().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(order, ["outer", "inner", "own", "own", "inner", "outer"], "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn layers_see_name_kind_and_arguments_of_everything() -> Result<()> {
    for &revision in Revision::ALL {
        let seen = Seen::default();
        let client = TestClient::with_revision(server().layer(seen.layer("-")), revision).await?;
        for tool in ["double_later", "double_slowly"] {
            assert_eq!(client.call(tool, json!({"number": 4})).await?.text(), "8", "{revision}");
        }
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "Paint it red.");
        assert_eq!(client.read("note://motto").await?.text(), "slow and steady");
        assert_eq!(client.read("note://7").await?.text(), "note 7");
        assert_eq!(client.read("note://a%20b/named").await?.text(), "the note a b");
        assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["green", "grey"]);
        assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["value"], 4);
        let entered: Vec<String> = seen.take().into_iter().filter(|line| line != "- done").collect();
        assert_eq!(
            entered,
            [
                "- tool double_later {\"number\":4}",
                "- tool double_slowly {\"number\":4}",
                "- prompt paint {\"colour\":\"red\"}",
                "- resource note://motto {}",
                "- resource note://7 {\"id\":\"7\"}",
                "- resource note://a%20b/named {\"name\":\"a b\"}",
                "- completion paint {\"name\":\"colour\",\"value\":\"gr\"}",
                "- custom tests.example/half {\"of\":8}",
            ],
            "{revision}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn calls_without_a_handler_reach_no_layer() -> Result<()> {
    let seen = Seen::default();
    let client = TestClient::connect(server().layer(seen.layer("-"))).await?;
    client.list_tools().await?;
    client.list_templates().await?;
    assert!(client.call("unknown", json!({})).await.is_err());
    // Its template has a number: another template may match, or none.
    assert!(client.read("note://seven").await.is_err());
    assert!(client.read("other://").await.is_err());
    assert_eq!(seen.take(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn template_that_does_not_fit_leaves_the_uri_to_another() -> Result<()> {
    /// Anything.
    #[resource("note://{+anything}")]
    fn anything(anything: String) -> String {
        format!("any {anything}")
    }
    let seen = Seen::default();
    let client = TestClient::connect(server().resources(resources![anything]).layer(seen.layer("-"))).await?;
    assert_eq!(client.read("note://seven").await?.text(), "any seven");
    assert_eq!(seen.take(), ["- resource note://seven {\"anything\":\"seven\"}", "- done"]);
    Ok(())
}

#[tokio::test]
async fn layer_may_answer_itself() -> Result<()> {
    async fn answer(call: Call, _: Next) -> Outcome {
        match call.kind() {
            CallKind::Tool => ToolResult::text("mine").into(),
            CallKind::Prompt => PromptResult::new([PromptMessage::user("mine")]).into(),
            CallKind::Resource => ReadResult::new([ResourceContents::text("mine")]).into(),
            CallKind::Completion => Outcome::completion(["mine"]),
            _ => Outcome::custom(serde_json::Map::from_iter([("mine".to_owned(), json!(true))])),
        }
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(answer), revision).await?;
        // The arguments are those of the handler, which is not called.
        assert_eq!(client.call("double", json!({"number": "x"})).await?.text(), "mine");
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "mine");
        let read = client.read("note://7").await?;
        assert_eq!((read.text().as_str(), &*read.contents()[0].uri), ("mine", "note://7"), "{revision}");
        assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["mine"]);
        assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["mine"], true);
    }
    Ok(())
}

#[tokio::test]
async fn result_of_another_kind_fails_the_call() -> Result<()> {
    async fn wrong(_: Call, _: Next) -> Outcome {
        PromptResult::new([]).into()
    }
    let client = TestClient::connect(server().layer(wrong)).await?;
    let error = client.call("double", json!({"number": 1})).await.unwrap_err();
    assert_eq!(error.code(), Some(-32603));
    assert_eq!(error.to_string(), "a layer around a tool has returned the result of something else");
    assert!(client.get_prompt("paint", json!({"colour": "red"})).await.is_ok());
    Ok(())
}

#[tokio::test]
async fn replaced_arguments_are_checked_as_usual() -> Result<()> {
    async fn replaced(mut call: Call, next: Next) -> Result<Outcome> {
        let mut arguments: serde_json::Value = call.arguments_as()?;
        if let Some(number) = arguments["number"].as_u64() {
            arguments["number"] = json!(number + 1);
        }
        call.set_arguments(&arguments)?;
        Ok(next.run(call).await)
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(replaced), revision).await?;
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "10");
        // Above the maximum now.
        let problem = match client.call("double", json!({"number": 100})).await {
            Ok(response) => response.text(),
            Err(error) => error.to_string(),
        };
        assert!(problem.contains("expected an integer from 0 to 100, got 101"), "{revision}: {problem}");
        // Read leniently, as without a layer.
        assert_eq!(client.call("double", json!({"number": "4"})).await?.text(), "8");
    }
    Ok(())
}

#[tokio::test]
async fn arguments_of_templates_and_completions_can_be_replaced() -> Result<()> {
    async fn replaced(mut call: Call, next: Next) -> Result<Outcome> {
        match call.kind() {
            CallKind::Resource => call.set_arguments(&json!({"id": "8"}))?,
            _ => call.set_arguments(&json!({"name": "colour", "value": "r"}))?,
        }
        Ok(next.run(call).await)
    }
    let client = TestClient::connect(server().layer(replaced)).await?;
    let read = client.read("note://7").await?;
    assert_eq!((read.text().as_str(), &*read.contents()[0].uri), ("note 8", "note://7"));
    assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["red"]);
    Ok(())
}

#[tokio::test]
async fn strict_servers_stay_strict_inside_of_layers() -> Result<()> {
    let seen = Seen::default();
    let client = TestClient::connect(server().strict_arguments(true).layer(seen.layer("-"))).await?;
    assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
    let refused = client.call("double", json!({"number": 4, "nmber": 5})).await?;
    assert!(refused.is_error() && refused.text().contains("nmber"), "{}", refused.text());
    Ok(())
}

#[tokio::test]
async fn results_can_be_replaced() -> Result<()> {
    async fn shout(call: Call, next: Next) -> Outcome {
        let mut outcome = next.run(call).await.with_meta("tests.example/layered", true);
        outcome.edit_texts(|text| Some(text.to_uppercase()));
        outcome
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(shout), revision).await?;
        assert_eq!(client.read("note://motto").await?.text(), "SLOW AND STEADY");
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "PAINT IT RED.");
        assert_eq!(client.call("fail", json!({"how": "is_error"})).await?.text(), "IT IS AN ERROR");
        let failed = client.call("fail", json!({"how": ""})).await?;
        assert_eq!((failed.text().as_str(), failed.is_error()), ("DISK FULL", true), "{revision}");
        let sum = client.call("add", json!({"a": 1, "b": 2})).await?;
        assert_eq!(sum.text(), r#"{"sum":3}"#);
        assert_eq!(sum.meta()["tests.example/layered"], true);
    }
    Ok(())
}

#[tokio::test]
async fn structured_result_of_a_layer_is_checked_against_the_schema() -> Result<()> {
    async fn other(call: Call, _: Next) -> Result<Outcome> {
        let sum = if call.arguments().contains('9') { json!("nine") } else { json!(7) };
        Ok(ToolResult::new([]).with_structured(&json!({"sum": sum}))?.into())
    }
    let client = TestClient::connect(server().layer(other)).await?;
    let answer = client.call("add", json!({"a": 1, "b": 2})).await?;
    assert_eq!(answer.structured::<serde_json::Value>()?, json!({"sum": 7}));
    let wrong = client.call("add", json!({"a": 9, "b": 2})).await?;
    assert!(wrong.is_error() && wrong.text().contains("outputSchema"), "{}", wrong.text());
    Ok(())
}

#[tokio::test]
async fn errors_are_inspected_and_replaced() -> Result<()> {
    async fn mapped(call: Call, next: Next) -> Outcome {
        let outcome = next.run(call).await;
        let Some(error) = outcome.error() else { return outcome };
        match error.kind() {
            ErrorKind::Handler => {
                assert_eq!(
                    error.downcast_ref::<std::io::Error>().map(ToString::to_string).as_deref(),
                    Some("disk full")
                );
                outcome.map_error(|error| Error::internal(format!("mapped: {error}")))
            }
            ErrorKind::Protocol => {
                assert_eq!((error.code(), error.data()), (Some(-32602), Some(&json!({"a": 1}))));
                outcome.map_error(|error| Error::msg(format!("for the model: {error}")))
            }
            ErrorKind::Panicked => ToolResult::error("it panicked").into(),
            ErrorKind::InvalidArguments => ToolResult::error(format!("layered: {}", error.message())).into(),
            _ => outcome,
        }
    }
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(mapped), revision).await?;
        let error = client.call("fail", json!({"how": ""})).await.unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (Some(-32603), "mapped: disk full"), "{revision}");
        let response = client.call("fail", json!({"how": "protocol"})).await?;
        assert_eq!((response.is_error(), &*response.text()), (true, "for the model: not so"));
        assert_eq!(client.call("fail", json!({"how": "panic"})).await?.text(), "it panicked");
        let text = client.call("fail", json!({})).await?.text();
        assert_eq!(text, "layered: Invalid arguments:\n- `how` is missing: expected a string");
    }
    Ok(())
}

#[tokio::test]
async fn error_of_a_layer_is_that_of_the_call() -> Result<()> {
    async fn refuse(call: Call, next: Next) -> Result<Outcome> {
        if call.kind() == CallKind::Tool {
            std::fs::read("/does/not/exist/at/all")?;
        }
        Ok(next.run(call).await)
    }
    let client = TestClient::connect(server().layer(refuse)).await?;
    let refused = client.call("double", json!({"number": 1})).await?;
    assert!(refused.is_error() && refused.text().contains("No such file"), "{}", refused.text());
    assert_eq!(client.read("note://motto").await?.text(), "slow and steady");
    Ok(())
}

#[tokio::test]
async fn panic_of_a_layer_ends_its_call_alone() -> Result<()> {
    async fn panicking(call: Call, next: Next) -> Outcome {
        assert!(!call.arguments().contains("13"), "unlucky");
        next.run(call).await
    }
    let seen = Seen::default();
    for &revision in Revision::ALL {
        let client = TestClient::with_revision(server().layer(seen.layer("-")).layer(panicking), revision).await?;
        let failed = client.call("double", json!({"number": 13})).await?;
        assert_eq!(failed.text(), "The tool failed unexpectedly; the server's log has the details.", "{revision}");
        assert_eq!(seen.take()[1], "- failed", "the layer around it sees that");
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
        assert!(client.request("tests.example/half", json!({"of": 13})).await.is_err());
        seen.take();
    }
    Ok(())
}

#[tokio::test]
async fn next_may_run_more_than_once() -> Result<()> {
    async fn thrice(call: Call, next: Next) -> Outcome {
        let mut outcome = next.run(call.clone()).await;
        for _ in 0..2 {
            if !outcome.is_error() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            outcome = next.run(call.clone()).await;
        }
        outcome
    }
    #[derive(Default)]
    struct Flaky(AtomicUsize);
    #[handlers]
    impl Flaky {
        /// Fails twice.
        #[tool]
        fn now(&self, ctx: &Context, text: String) -> Result<String> {
            assert!(!ctx.is_cancelled());
            if self.0.fetch_add(1, Ordering::SeqCst) % 3 < 2 { Err(Error::msg("not yet")) } else { Ok(text) }
        }

        /// Fails twice, on a thread.
        #[tool(blocking)]
        fn on_a_thread(&self, ctx: &Context, text: String) -> Result<String> {
            self.now(ctx, text)
        }

        /// Fails twice, later.
        #[tool]
        async fn later(&self, ctx: &Context, text: String) -> Result<String> {
            tokio::task::yield_now().await;
            self.now(ctx, text)
        }
    }
    for &revision in Revision::ALL {
        let client =
            TestClient::with_revision(Server::new("flaky", "1").layer(thrice).mount(Flaky::default()), revision)
                .await?;
        for tool in ["now", "on_a_thread", "later"] {
            assert_eq!(client.call(tool, json!({"text": "at last"})).await?.text(), "at last", "{revision} {tool}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn call_that_never_waits_is_answered_in_the_first_poll() -> Result<()> {
    // The thread that reads polls once; a call that is pending then goes on in a task, on another thread.
    async fn threads(call: Call, next: Next) -> Outcome {
        let name = || std::thread::current().name().unwrap_or_default().to_owned();
        let (before, waits) = (name(), call.name() == "double_later");
        let outcome = next.run(call).await;
        assert_eq!(before == name(), !waits, "{before}");
        assert_eq!(before, "mcp-stdio");
        outcome
    }
    let seen = Seen::default();
    let client = TestClient::connect(server().layer(threads).layer(seen.layer("-")).layer(threads)).await?;
    assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
    assert_eq!(client.call("double_later", json!({"number": 4})).await?.text(), "8");
    assert_eq!(client.read("note://a/named").await?.text(), "the note a");
    assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["value"], 4);
    assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values.len(), 2);
    Ok(())
}

#[tokio::test]
async fn cancelled_and_timed_out_calls_drop_their_layers() -> Result<()> {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (dropped, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, begun) = (Arc::clone(&dropped), Arc::clone(&entered));
    let waits = move |call: Call, next: Next| {
        let (guard, begun) = (Dropped(Arc::clone(&counted)), Arc::clone(&begun));
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            if call.name() == "double" {
                std::future::pending::<()>().await;
            }
            let outcome = next.run(call).await;
            drop(guard);
            outcome
        }
    };
    let client = TestClient::connect(server().layer(waits)).await?;
    let call = client.start("double", json!({"number": 1}))?;
    while entered.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    call.cancel()?;
    while dropped.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A timeout surrounds the layers, too.
    let slow = |call: Call, next: Next| async move {
        tokio::time::sleep(Duration::from_mins(1)).await;
        next.run(call).await
    };
    let client = TestClient::connect(server().timeout(Duration::from_millis(20)).layer(slow)).await?;
    let late = client.call("double", json!({"number": 1})).await?;
    assert_eq!(late.text(), "The tool timed out after 20ms.");
    Ok(())
}

#[tokio::test]
async fn layers_report_progress_and_share_the_context() -> Result<()> {
    /// Work.
    #[tool]
    async fn work(ctx: &Context) -> &'static str {
        ctx.progress(2, 3).await;
        "worked"
    }
    async fn reports(call: Call, next: Next) -> Outcome {
        let ctx = call.ctx().clone();
        ctx.progress(1, 3).await;
        tokio::time::sleep(Duration::from_millis(15)).await;
        let outcome = next.run(call).await;
        ctx.progress(3, 3).await;
        outcome
    }
    for &revision in Revision::ALL {
        let server = Server::new("progress", "1.0.0").tools(tools![work]).layer(reports);
        let client = TestClient::with_revision(server, revision).await?;
        let observed = client.observe("work", json!({})).await?;
        assert_eq!(observed.result().text(), "worked");
        let done: Vec<f64> = observed.progress().iter().map(|note| note.done).collect();
        assert_eq!(done, [1.0, 2.0, 3.0], "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn layers_know_the_user_and_the_revision() -> Result<()> {
    async fn only_alice(call: Call, next: Next) -> Outcome {
        match call.user().map(|user| user.subject().to_owned()) {
            Some(subject) if subject == "alice" => next.run(call).await.with_meta("tests.example/for", subject),
            other => ToolResult::error(format!("{other:?} in {}", call.revision())).into(),
        }
    }
    for &revision in Revision::ALL {
        let connect = |name: &'static str| {
            TestClient::builder(server().layer(only_alice)).revision(revision).user(name, ["a"]).connect()
        };
        let response = connect("alice").await?.call("double", json!({"number": 1})).await?;
        assert_eq!((&*response.text(), &response.meta()["tests.example/for"]), ("2", &json!("alice")));
        let refused = connect("bob").await?.call("double", json!({"number": 1})).await?;
        assert_eq!(refused.text(), format!("Some(\"bob\") in {revision}"));
    }
    Ok(())
}

#[tokio::test]
async fn handlers_added_later_are_layered() -> Result<()> {
    /// Triple a number.
    #[tool]
    fn triple(number: u32) -> u32 {
        number * 3
    }
    let seen = Seen::default();
    let server = server().layer(seen.layer("-"));
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let own = tools![triple].into_iter().map(|tool| tool.layer(seen.layer("own")));
    handle.tools().add(own)?;
    assert_eq!(client.call("triple", json!({"number": 2})).await?.text(), "6");
    assert_eq!(seen.take().len(), 4);
    Ok(())
}

#[tokio::test]
async fn layers_of_runtime_tools_and_of_mounted_values() -> Result<()> {
    struct Notes(&'static str);
    #[handlers]
    impl Notes {
        /// Read.
        #[tool]
        fn read(&self) -> &'static str {
            self.0
        }

        /// A note.
        #[resource("own://{id}")]
        fn own(&self, id: u32) -> String {
            format!("{} {id}", self.0)
        }
    }
    let seen = Seen::default();
    let made =
        Tool::builder("made").description("Made at run time.").handler(|_, _: serde_json::Value| async { "made" });
    let mounted = mcp_runtime::Handlers::from(Notes("read")).layer(seen.layer("inner")).layer(seen.layer("block"));
    let server = Server::new("mounted", "1").tools([made.layer(seen.layer("own"))]).mount_as("my", mounted);
    let client = TestClient::connect(server).await?;
    assert_eq!(client.call("made", json!({})).await?.text(), "made");
    assert_eq!(seen.take(), ["own tool made {}", "own done"]);
    assert_eq!(client.call("my_read", json!({})).await?.text(), "read");
    assert_eq!(seen.take()[..2], ["block tool my_read {}", "inner tool my_read {}"]);
    assert_eq!(client.read("own://3").await?.text(), "read 3");
    assert_eq!(seen.take()[0], "block resource own://3 {\"id\":\"3\"}");
    Ok(())
}

#[tokio::test]
async fn restricted_resources_stay_private_whatever_a_layer_returns() -> Result<()> {
    use mcp_runtime::protocol::CacheHint;
    async fn public(_: Call, _: Next) -> Outcome {
        let contents = [ResourceContents::text("mine")];
        ReadResult::new(contents).with_cache(CacheHint::public(Duration::from_mins(1))).into()
    }
    let [motto] = resources![motto];
    let client =
        TestClient::connect(Server::new("s", "1").resources([motto.visible_if(|_| true)]).layer(public)).await?;
    let result = client.request("resources/read", json!({"uri": "note://motto"})).await?;
    assert_eq!((&result["cacheScope"], &result["ttlMs"]), (&json!("private"), &json!(60_000)));
    Ok(())
}
