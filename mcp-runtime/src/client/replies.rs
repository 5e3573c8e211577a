//! The replies of a test client to the server's requests.

use std::fmt;
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use crate::protocol::{Revision, Root};
use crate::sync::lock;

/// An elicitation, as passed to [`on_elicit`](super::TestClientBuilder::on_elicit).
#[derive(Debug, Clone)]
pub struct ElicitRequest {
    key: Option<String>,
    params: Value,
}

impl ElicitRequest {
    /// The message shown to the user.
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    /// The schema of the form; null for a [URL](Self::url).
    pub fn schema(&self) -> &Value {
        &self.params["requestedSchema"]
    }

    /// The page to visit, if the elicitation is one by URL.
    pub fn url(&self) -> Option<&str> {
        self.params["url"].as_str()
    }

    /// The key of the question within its round; only 2026-07-28 has one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// The user's reply to an elicitation. A JSON value converts into an accepted form with that content.
#[derive(Debug, Clone)]
pub struct ElicitReply(Value);

impl ElicitReply {
    /// Submits the form with this content, or visits the page; the content is ignored then.
    pub fn accept(content: impl Into<Value>) -> Self {
        ElicitReply(json!({"action": "accept", "content": content.into()}))
    }

    /// Declines the question: the handler's [`elicit`](crate::Context::elicit) fails.
    pub fn decline() -> Self {
        ElicitReply(json!({"action": "decline"}))
    }

    /// Dismisses the question without a choice.
    pub fn cancel() -> Self {
        ElicitReply(json!({"action": "cancel"}))
    }
}

impl From<Value> for ElicitReply {
    fn from(content: Value) -> Self {
        ElicitReply::accept(content)
    }
}

/// The reply to a sampling request. A text becomes a message from the assistant, by the model
/// `test-model`; a JSON value is the whole result of `sampling/createMessage`.
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

/// A test's function that answers requests.
type ReplyFn<Q, R> = Mutex<Box<dyn FnMut(&Q) -> R + Send>>;

/// The replies of a client, by kind of request.
#[derive(Default)]
pub(super) struct Replies {
    pub(super) elicit: Option<ReplyFn<ElicitRequest, ElicitReply>>,
    pub(super) sample: Option<ReplyFn<Value, SampleReply>>,
    pub(super) roots: Option<Vec<Root>>,
    /// Whether the answers are a person's, who takes time.
    pub(super) asks_a_person: bool,
}

impl Replies {
    /// The result, if the client answers requests of this method.
    pub(super) fn reply(&self, method: &str, params: &Value, key: Option<&str>) -> Option<Value> {
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
            // Servers of older revisions may ask whether the client is still there.
            "ping" => Some(json!({})),
            _ => None,
        }
    }

    /// Whether the client answers requests of this method.
    pub(super) fn knows(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.elicit.is_some(),
            "sampling/createMessage" => self.sample.is_some(),
            "roots/list" => self.roots.is_some(),
            method => method == "ping",
        }
    }

    /// Declares the capabilities that follow from the replies, unless set explicitly.
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

fn call<Q, R>(answer: &ReplyFn<Q, R>, question: &Q) -> R {
    // A panic is reported in the test that caused it; later calls may proceed.
    let mut answer = lock(answer);
    (*answer)(question)
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies")
            .field("elicit", &self.elicit.is_some())
            .field("sample", &self.sample.is_some())
            .field("roots", &self.roots)
            .field("asks_a_person", &self.asks_a_person)
            .finish()
    }
}

/// How to make the client answer requests of this method.
pub(super) fn advice(method: &str) -> &'static str {
    match method {
        "elicitation/create" => "give the client's builder an `on_elicit`",
        "sampling/createMessage" => "give the client's builder an `on_sample`",
        "roots/list" => "give the client's builder `roots`",
        _ => "no client answers this method",
    }
}
