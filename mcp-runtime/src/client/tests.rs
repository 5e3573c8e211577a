//! Tests of the test client, against scripted servers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Mutex;

use serde_json::Map;

use super::*;

/// A client of a server that answers each line with the lines of the script.
fn scripted(client: TestClientBuilder, mut script: impl FnMut(Value) -> Vec<Value> + Send + 'static) -> TestClient {
    let serve = move |input: Input, mut output: Output| {
        tokio::task::spawn_blocking(move || {
            for line in BufReader::new(input).lines() {
                for answer in script(serde_json::from_str(&line?)?) {
                    writeln!(output, "{answer}")?;
                }
            }
            Ok(())
        })
    };
    client.open(|_, identity, answers| TestClient::wire(identity, answers, serve))
}

fn builder(revision: Revision) -> TestClientBuilder {
    TestClient::builder(Server::new("unused", "1.0.0")).revision(revision)
}

/// A client that answers every kind of request.
fn answering(revision: Revision) -> TestClientBuilder {
    builder(revision)
        .on_elicit(|question: &ElicitRequest| json!({"said": question.message(), "key": question.key()}))
        .on_sample(|params: &Value| format!("to {}", params["messages"][0]["content"]["text"].as_str().unwrap()))
        .roots([("file:///a", "A")])
}

fn ask(kind: &str) -> Value {
    match kind {
        "elicit" => json!({"method": "elicitation/create", "params": {
            "message": "Name?", "requestedSchema": {"type": "object", "properties": {}},
        }}),
        "sample" => json!({"method": "sampling/createMessage", "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5,
        }}),
        _ => json!({"method": "roots/list"}),
    }
}

fn done(request: &Value, text: &str) -> Value {
    let result = match request["method"].as_str().unwrap() {
        "tools/call" => json!({"content": [{"type": "text", "text": text}]}),
        "prompts/get" => json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}),
        "resources/read" => json!({"contents": [{"uri": "x:", "text": text}]}),
        _ => json!({}),
    };
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    answer["result"]["resultType"] = "complete".into();
    answer
}

fn needs(request: &Value, input: &Value) -> Value {
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": input});
    answer["result"]["resultType"] = "input_required".into();
    answer
}

fn sampled(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"role": "assistant", "content": content, "model": "test-model", "stopReason": "endTurn"})
}

#[test]
fn builder_declares_capabilities_of_its_replies() {
    let declared = |client: TestClientBuilder| {
        let serve =
            |_, identity: Identity, answers| TestClient::wire(identity, answers, |_, _| tokio::spawn(async { Ok(()) }));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _entered = runtime.enter();
        client.open(serve).identity.initialize_params()["capabilities"].take()
    };
    let (form, newer) = (json!({"form": {}, "url": {}}), json!({"tools": {}}));
    for (revision, capabilities) in [
        (Revision::V2024_11_05, json!({"sampling": {}, "roots": {}})),
        (Revision::V2025_03_26, json!({"sampling": {}, "roots": {}})),
        (Revision::V2025_06_18, json!({"elicitation": {}, "sampling": {}, "roots": {}})),
        (Revision::V2025_11_25, json!({"elicitation": form, "sampling": newer, "roots": {}})),
        (Revision::V2026_07_28, json!({"elicitation": form, "sampling": newer, "roots": {}})),
    ] {
        assert_eq!(declared(answering(revision)), capabilities, "{revision}");
        assert_eq!(declared(builder(revision)), json!({}));
    }
    let by_hand = answering(Revision::V2026_07_28).capability("elicitation", json!({"form": {}}));
    assert_eq!(declared(by_hand)["elicitation"], json!({"form": {}}));
}

#[tokio::test]
async fn session_requests_are_answered() {
    let mut call = None;
    let script = move |message: Value| match message["id"].as_str() {
        None => {
            call = Some(message);
            let asks = ["elicit", "sample", "roots"].into_iter().map(|kind| {
                let mut request = ask(kind);
                request["id"] = format!("s-{kind}").into();
                request
            });
            asks.collect()
        }
        // The last answer is the call's result.
        Some("s-roots") => vec![json!({"method": "seen", "params": message}), done(call.as_ref().unwrap(), "ok")],
        Some(_) => vec![json!({"method": "seen", "params": message})],
    };
    let client = scripted(answering(Revision::V2025_06_18), script);
    assert_eq!(client.call("t", json!({})).await.unwrap().text(), "ok");
    for (id, result) in [
        ("s-elicit", json!({"action": "accept", "content": {"said": "Name?", "key": null}})),
        ("s-sample", sampled("to Hi")),
        ("s-roots", json!({"roots": [{"uri": "file:///a", "name": "A"}]})),
    ] {
        let seen: Value = serde_json::from_str(&client.receive().await.unwrap()).unwrap();
        assert_eq!(seen["params"], json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
}

#[tokio::test]
async fn unanswered_requests_are_left_to_the_test() {
    let client = scripted(builder(Revision::V2025_11_25).roots([("a:", "A")]), |_| {
        // The same id as the client's own request.
        let mut request = ask("elicit");
        request["id"] = 1.into();
        vec![request]
    });
    let call = client.start("t", json!({})).unwrap();
    assert!(client.receive().await.unwrap().contains("elicitation/create"));
    drop(call);
}

#[tokio::test]
async fn rounds_are_answered_until_the_result() {
    const STATE: &str = "v1.\u{e4}\"\\\n/+=";
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rounds);
    let client = scripted(answering(Revision::V2026_07_28), move |request| {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        let note = json!({"method": "notifications/progress", "params": {
            "progressToken": request["params"]["_meta"]["progressToken"], "progress": seen.len(),
        }});
        vec![
            note,
            match seen.len() {
                1 => needs(
                    &request,
                    &json!({
                        "inputRequests": {"a": ask("elicit"), "b": ask("sample"), "c": ask("roots")}, "requestState": STATE,
                    }),
                ),
                2 => needs(&request, &json!({"requestState": "only"})),
                3 => needs(&request, &json!({"inputRequests": {"d": ask("elicit")}})),
                _ => done(&request, "ok"),
            },
        ]
    });
    let observed = client.observe("t", json!({"x": 1})).await.unwrap();
    assert_eq!(observed.result().text(), "ok");
    assert_eq!(observed.progress().iter().map(|note| note.done).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);

    let mut seen = rounds.lock().unwrap();
    let ids: Vec<_> = seen.iter().map(|request| request["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    let mut added = |round: usize| {
        let Value::Object(params) = seen[round]["params"].take() else { panic!("{round} has no parameters") };
        let (added, same): (Map<_, _>, Map<_, _>) =
            params.into_iter().partition(|(key, _)| key == "inputResponses" || key == "requestState");
        (Value::Object(added), same)
    };
    let (nothing, first) = added(0);
    assert_eq!(nothing, json!({}));
    let answer = |key| json!({"action": "accept", "content": {"said": "Name?", "key": key}});
    let all = json!({"a": answer("a"), "b": sampled("to Hi"), "c": {"roots": [{"uri": "file:///a", "name": "A"}]}});
    assert_eq!(added(1), (json!({"inputResponses": all, "requestState": STATE}), first.clone()));
    assert_eq!(added(2), (json!({"requestState": "only"}), first.clone()));
    assert_eq!(added(3), (json!({"inputResponses": {"d": answer("d")}}), first));
}

/// A server that asks once, for every request.
fn ask_once(request: &Value) -> Vec<Value> {
    match request["params"].get("inputResponses") {
        None => vec![needs(request, &json!({"inputRequests": {"k": ask("elicit")}}))],
        Some(responses) => vec![done(request, &responses["k"]["content"]["said"].to_string())],
    }
}

#[tokio::test]
async fn calls_reads_and_prompts_run_rounds_and_raw_requests_do_not() {
    let client = scripted(answering(Revision::V2026_07_28), |request| ask_once(&request));
    assert_eq!(client.call("t", json!({})).await.unwrap().text(), "\"Name?\"");
    assert_eq!(client.start("t", json!({})).unwrap().result().await.unwrap().text(), "\"Name?\"");
    assert_eq!(client.read("x:").await.unwrap().text(), "\"Name?\"");
    assert_eq!(client.get_prompt("p", json!({})).await.unwrap().text(), "\"Name?\"");
    let raw = client.request("tools/call", json!({"name": "t"})).await.unwrap();
    assert_eq!(raw["resultType"], "input_required");
}

#[tokio::test]
async fn unanswered_question_names_the_missing_reply() {
    let client = scripted(builder(Revision::V2026_07_28).roots([("a:", "A")]), |request| ask_once(&request));
    assert_eq!(
        client.call("t", json!({})).await.unwrap_err().to_string(),
        "the server asks `elicitation/create` as `k`, which this client does not answer: \
         give the client's builder an `on_elicit`"
    );
}

#[tokio::test]
async fn rounds_are_limited() {
    let client =
        scripted(answering(Revision::V2026_07_28), |request| vec![needs(&request, &json!({"requestState": "x"}))]);
    let error = client.call("t", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("tools/call still asks for more after 100 rounds"), "{error}");
    assert_eq!(client.next_id.load(Ordering::Relaxed), 102, "one request and 100 rounds");
}

#[test]
fn url_elicitation_reply_has_no_content() {
    let answers = |reply: ElicitReply| {
        let mut reply = Some(reply);
        let answer = move |question: &ElicitRequest| {
            assert_eq!((question.url(), question.schema()), (Some("https://x"), &Value::Null));
            reply.take().unwrap()
        };
        let answers = Replies { elicit: Some(Mutex::new(Box::new(answer))), ..Replies::default() };
        answers.reply("elicitation/create", &json!({"mode": "url", "message": "Go", "url": "https://x"}), None).unwrap()
    };
    assert_eq!(answers(json!({}).into()), json!({"action": "accept"}));
    assert_eq!(answers(ElicitReply::decline()), json!({"action": "decline"}));
    assert_eq!(answers(ElicitReply::cancel()), json!({"action": "cancel"}));
}

#[tokio::test]
async fn panicking_reply_fails_the_test() {
    let script = |message: &Value| match message.get("method") {
        Some(_) => {
            let mut request = ask("elicit");
            request["id"] = "s1".into();
            vec![request]
        }
        None => vec![done(&json!({"method": "tools/call", "id": 1}), "failed")],
    };
    let wrong = |_: &ElicitRequest| -> Value { panic!("not what the test expects") };
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let client = builder(revision).on_elicit(wrong);
        let client =
            scripted(client, move |message| if revision.is_modern() { ask_once(&message) } else { script(&message) });
        let called = tokio::spawn(async move { client.call("t", json!({})).await.map(drop) });
        let panic = called.await.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref(), Some(&"not what the test expects"), "{revision}");
    }
}

#[tokio::test]
async fn new_server_per_round_serves_later_rounds() {
    let fresh = || Server::new("other", "1.0.0");
    let client = scripted(answering(Revision::V2026_07_28).new_server_per_round(fresh), |request| ask_once(&request));
    let error = client.call("t", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(RpcError::METHOD_NOT_FOUND), "the other server has no tools: {error}");
}

/// It answers `server/discover` after the client has given up on it, and refuses `initialize`.
#[tokio::test]
async fn slow_stateless_server_is_not_taken_for_an_old_one() {
    let mut discover = None;
    let script = move |request: Value| match request["method"].as_str() {
        Some("server/discover") => {
            discover = Some(request["id"].clone());
            Vec::new()
        }
        Some("initialize") => {
            let error = json!({"code": RpcError::UNSUPPORTED_VERSION, "message": "no sessions"});
            let refusal = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
            vec![json!({"jsonrpc": "2.0", "id": discover, "result": {"supportedVersions": []}}), refusal]
        }
        _ => vec![done(&request, "served")],
    };
    let mut client = scripted(builder(Revision::LATEST), script);
    client.negotiate(true, Map::new(), std::time::Duration::from_millis(20)).await.unwrap();
    assert_eq!(client.revision(), Revision::LATEST);
    assert_eq!(client.call("t", json!({})).await.unwrap().text(), "served");
}
