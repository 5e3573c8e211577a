//! What a test client answers when the server asks it something.

use std::fmt;
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use crate::protocol::Revision;
use crate::sync::lock;

/// What a server asks a person, as [`on_elicit`](super::TestClientBuilder::on_elicit) sees it.
#[derive(Debug, Clone)]
pub struct ElicitRequest {
    key: Option<String>,
    params: Value,
}

impl ElicitRequest {
    /// What the person reads.
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    /// The schema of the form; null where a page is to be opened instead.
    pub fn schema(&self) -> &Value {
        &self.params["requestedSchema"]
    }

    /// The page to open, if that is what is asked.
    pub fn url(&self) -> Option<&str> {
        self.params["url"].as_str()
    }

    /// The key of the question among those of its round, which only 2026-07-28 has.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// What a person answers. A JSON value is a form that was filled in and sent.
#[derive(Debug, Clone)]
pub struct ElicitReply(Value);

impl ElicitReply {
    /// Sends the form with this content, or opens the page, which has none.
    pub fn accept(content: impl Into<Value>) -> Self {
        ElicitReply(json!({"action": "accept", "content": content.into()}))
    }

    /// Says no.
    pub fn decline() -> Self {
        ElicitReply(json!({"action": "decline"}))
    }

    /// Closes the form without a word.
    pub fn cancel() -> Self {
        ElicitReply(json!({"action": "cancel"}))
    }
}

impl From<Value> for ElicitReply {
    fn from(content: Value) -> Self {
        ElicitReply::accept(content)
    }
}

/// What the client's model answers. A text is said by the assistant of `test-model`; a JSON value is
/// the result of `sampling/createMessage` as it is.
#[derive(Debug, Clone)]
pub struct SampleReply(Value);

impl From<Value> for SampleReply {
    fn from(result: Value) -> Self {
        SampleReply(result)
    }
}

impl From<String> for SampleReply {
    fn from(text: String) -> Self {
        let content = json!({"type": "text", "text": text});
        SampleReply(json!({"role": "assistant", "content": content, "model": "test-model", "stopReason": "endTurn"}))
    }
}

impl From<&str> for SampleReply {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A test's own answer to a question.
type AnswerFn<Q, R> = Mutex<Box<dyn FnMut(&Q) -> R + Send>>;

/// What a client answers, by what it is asked.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) elicit: Option<AnswerFn<ElicitRequest, ElicitReply>>,
    pub(super) sample: Option<AnswerFn<Value, SampleReply>>,
    pub(super) roots: Option<Vec<Value>>,
}

impl Answers {
    /// The result, if this client answers such requests.
    pub(super) fn answer(&self, method: &str, params: &Value, key: Option<&str>) -> Option<Value> {
        match method {
            "elicitation/create" => {
                let question = ElicitRequest { key: key.map(str::to_owned), params: params.clone() };
                let ElicitReply(mut result) = call(self.elicit.as_ref()?, &question);
                if let (Some(_), Value::Object(result)) = (question.url(), &mut result) {
                    result.remove("content");
                }
                Some(result)
            }
            "sampling/createMessage" => Some(call(self.sample.as_ref()?, params).0),
            "roots/list" => Some(json!({"roots": self.roots.as_ref()?})),
            _ => None,
        }
    }

    /// Says what it can, where nothing was said by hand.
    pub(super) fn declare(&self, revision: Revision, capabilities: &mut Map<String, Value>) {
        let newer = revision.has_elicitation_modes();
        let mut can = |name: &str, settings: Value| {
            capabilities.entry(name).or_insert(settings);
        };
        if self.elicit.is_some() && revision.has_forms() {
            can("elicitation", if newer { json!({"form": {}, "url": {}}) } else { json!({}) });
        }
        if self.sample.is_some() {
            can("sampling", if newer { json!({"tools": {}}) } else { json!({}) });
        }
        if self.roots.is_some() {
            can("roots", json!({}));
        }
    }
}

fn call<Q, R>(answer: &AnswerFn<Q, R>, question: &Q) -> R {
    // One that panicked says so in its test; the next question is as good as the first.
    let mut answer = lock(answer);
    (*answer)(question)
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("elicit", &self.elicit.is_some())
            .field("sample", &self.sample.is_some())
            .field("roots", &self.roots)
            .finish()
    }
}

/// The builder's method that makes a client answer a request.
pub(super) fn advice(method: &str) -> &'static str {
    match method {
        "elicitation/create" => "give the client's builder an `on_elicit`",
        "sampling/createMessage" => "give the client's builder an `on_sample`",
        "roots/list" => "give the client's builder `roots`",
        _ => "no client answers that",
    }
}
