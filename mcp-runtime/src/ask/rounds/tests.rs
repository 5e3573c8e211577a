//! Rounds of a handler that asks in a `join!`.

use std::pin::pin;

use serde_json::json;

use super::*;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::outcome::Question;

const BOUNDS: Bounds = Bounds { ttl: Duration::from_secs(60), bytes: 10_000, rounds: 10 };

fn binding() -> StateBinding {
    StateBinding { server: "test".into(), principal: None, method: "tools/call", params: None }
}

fn question(key: &str) -> Posed {
    let question = Question { method: Question::ELICIT, params: json!({"message": key}) };
    Posed { question, repeats: None, limit: None }
}

/// One run of a handler that asks these in a `join!`. Returns the keys it got answers for, and the response.
fn run(sealer: &Arc<StateSealer>, retry: Option<&Value>, keys: &[&str]) -> (Vec<String>, Poll<Outcome>) {
    let text = retry.map(Value::to_string);
    let resumed = text.map(|text| {
        let params = Object::read(Raw::new_unchecked(&text)).unwrap();
        Resumed::read(&params, &binding(), sealer, BOUNDS.bytes).unwrap().unwrap()
    });
    let rounds = Rounds::new(binding(), Arc::clone(sealer), resumed, BOUNDS);
    let mut cx = Context::from_waker(Waker::noop());
    let mut asks: Vec<_> = keys.iter().map(|key| (key, Box::pin(rounds.ask(key, question(key))))).collect();
    let answered = asks.iter_mut().filter_map(|(key, ask)| match pin!(ask).poll(&mut cx) {
        Poll::Ready(answer) => answer.ok().map(|_| (**key).to_owned()),
        Poll::Pending => None,
    });
    (answered.collect(), rounds.poll(&mut cx, || Ok(("dialogue".to_owned(), OnceResults::new()))))
}

/// The keys of the questions in a response, and the retry with these answers.
fn retry(response: Poll<Outcome>, answers: &Value) -> (Vec<String>, Value) {
    let Poll::Ready(Ok(Reply::InputRequired { asked, state })) = response else { panic!("{response:?}") };
    let keys = asked.into_iter().map(|(key, _)| key).collect();
    (keys, json!({"inputResponses": answers, "requestState": state}))
}

#[test]
fn answer_to_an_ask_that_was_too_late_is_kept() {
    let (sealer, accept) = (Arc::default(), json!({"action": "accept"}));
    let (_, response) = run(&sealer, None, &["fast", "slow"]);
    let (asked, second) = retry(response, &json!({"fast": accept, "slow": accept}));
    assert_eq!(asked, ["fast", "slow"]);
    // The handler asks the next question before it comes to the slow one.
    let (answered, response) = run(&sealer, Some(&second), &["fast", "next"]);
    assert_eq!(answered, ["fast"]);
    let (asked, third) = retry(response, &json!({"next": accept}));
    assert_eq!(asked, ["next"]);
    let (answered, response) = run(&sealer, Some(&third), &["fast", "slow", "next"]);
    assert_eq!(answered, ["fast", "slow", "next"]);
    assert!(response.is_pending());
}

#[test]
fn malformed_answer_is_asked_for_again() {
    let (sealer, accept) = (Arc::default(), json!({"action": "accept"}));
    let (_, response) = run(&sealer, None, &["fast", "slow"]);
    let (_, second) = retry(response, &json!({"fast": accept, "slow": {"action": "perhaps"}}));
    // Whether or not the handler comes to the slow ask in this run.
    for keys in [&["fast", "slow", "next"][..], &["fast", "next"]] {
        let (answered, response) = run(&sealer, Some(&second), keys);
        assert_eq!(answered, ["fast"]);
        let (_, third) = retry(response, &json!({"next": accept}));
        let (answered, response) = run(&sealer, Some(&third), &["fast", "slow", "next"]);
        assert_eq!(answered, ["fast", "next"]);
        let (asked, fourth) = retry(response, &json!({"slow": accept}));
        assert_eq!(asked, ["slow"]);
        assert_eq!(run(&sealer, Some(&fourth), &["fast", "slow", "next"]).0, ["fast", "slow", "next"]);
    }
}
