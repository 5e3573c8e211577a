//! Questions and answers on the wire: their shapes, and the digest that tells one question from another.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::AskError;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::jsonrpc::object::optional_object;
use crate::jsonrpc::raw::Raw;
use crate::outcome::Question;
use crate::sort;

impl Question {
    pub(super) const ELICIT: &'static str = "elicitation/create";
    pub(super) const SAMPLE: &'static str = "sampling/createMessage";
    pub(super) const ROOTS: &'static str = "roots/list";

    /// A digest, equal for equal questions. It is neither secret nor collision-resistant: it only tells a
    /// handler's author that a retry asks something else.
    pub(super) fn digest(&self) -> u64 {
        let mut text = self.method.as_bytes().to_vec();
        canonical(&self.params, &mut text);
        // FNV-1a: the same in every process, whatever it was built with.
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// Whether a value has the shape of an answer to this question.
    pub(super) fn is_answered_by(&self, value: &Value) -> bool {
        Self::fits(self.method, value)
    }

    /// The shape of an answer to a request of this method, for people.
    pub(crate) fn shape(method: &str) -> &'static str {
        match method {
            Self::ELICIT => "an object whose `action` is `accept`, `decline` or `cancel`",
            Self::SAMPLE => "an object with `role` and `content`",
            _ => "an object with a list of `roots`",
        }
    }

    /// Whether a value has the shape of an answer to a request of this method.
    pub(crate) fn fits(method: &str, value: &Value) -> bool {
        match method {
            Self::ELICIT => matches!(value["action"].as_str(), Some("accept" | "decline" | "cancel")),
            Self::SAMPLE => value["role"].is_string() && (value["content"].is_object() || value["content"].is_array()),
            _ => value["roots"].is_array(),
        }
    }
}

impl Question {
    /// The same question, with what was wrong with the answer before.
    pub(super) fn again(&self, why: &str) -> Question {
        let (method, mut params, why) = (self.method, self.params.clone(), shorten(why));
        match method {
            Self::ELICIT => {
                let message = params["message"].as_str().unwrap_or_default();
                params["message"] = json!(format!("{message}\n\nPlease correct your answer: {why}"));
            }
            Self::SAMPLE => {
                let text = format!("The answer before this one cannot be used: {why}. Answer again.");
                if let Some(messages) = params["messages"].as_array_mut() {
                    messages.push(json!({"role": "user", "content": {"type": "text", "text": text}}));
                }
            }
            _ => {}
        }
        Question { method, params }
    }
}

/// A question as an ask puts it to the client.
#[derive(Debug)]
pub(crate) struct Posed {
    pub(crate) question: Question,
    /// The digest of the question that this one repeats: what was wrong may be told in other words in another run.
    pub(super) repeats: Option<u64>,
    /// The timeout of the ask, if it has one of its own.
    pub(super) limit: Option<Duration>,
}

impl Posed {
    /// What tells it from another question under the same key.
    pub(crate) fn digest(&self) -> u64 {
        self.repeats.unwrap_or_else(|| self.question.digest())
    }

    pub(super) fn timed_out(&self) -> AskError {
        AskError::TimedOut(self.limit.unwrap_or_default())
    }
}

/// An answer, or the error that the client sent in its place.
pub(crate) fn read_answer(answer: Value) -> Result<Value, AskError> {
    // An answer may have a member of this name besides others.
    let alone = answer.as_object().is_some_and(|members| members.len() == 1);
    match &answer["error"] {
        error @ Value::Object(_) if alone => Err(AskError::ClientError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
        _ => Ok(answer),
    }
}

/// Reads the client's answers from `inputResponses`, each with its key.
pub(crate) fn read_responses(raw: Raw<'_>) -> Result<Vec<(String, Value)>, RpcError> {
    if raw.kind() != "object" {
        return Err(RpcError::wrong_field("inputResponses", "object", raw.kind()));
    }
    let responses = optional_object("inputResponses", Some(raw))?;
    let read = |(key, response): (&str, Raw<'_>)| match serde_json::from_str(response.get()) {
        Ok(answer @ Value::Object(_)) => Ok((key.to_owned(), answer)),
        _ => {
            let field = format!("inputResponses.{}", shorten(key));
            Err(RpcError::wrong_field(&field, "object", response.kind()))
        }
    };
    responses.iter().map(read).collect()
}

/// Canonical JSON, equal for equal values: the members of objects are sorted by key.
fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let keys: Vec<&str> = map.keys().map(String::as_str).collect();
            out.push(b'{');
            for key in sort::by_text(&keys, |key| key) {
                scalar(key, out);
                out.push(b':');
                canonical(&map[key], out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Value::Array(list) => {
            out.push(b'[');
            for value in list {
                canonical(value, out);
                out.push(b',');
            }
            out.push(b']');
        }
        other => scalar(other, out),
    }
}

fn scalar<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// The content of a form that the user accepted.
pub(super) fn accepted(mut answer: Value) -> Result<Value, AskError> {
    match action(&answer)? {
        "accept" => Ok(match answer["content"].take() {
            Value::Null => json!({}),
            content => content,
        }),
        other => Err(rejection(other)),
    }
}

/// What the user did with a question.
pub(super) fn action(answer: &Value) -> Result<&str, AskError> {
    answer["action"].as_str().ok_or_else(|| AskError::Invalid("`action` is missing".to_owned()))
}

/// An action other than `accept`, as an error.
pub(super) fn rejection(action: &str) -> AskError {
    match action {
        "decline" => AskError::Declined,
        "cancel" => AskError::Cancelled,
        other => AskError::Invalid(format!("unknown action `{}`", shorten(other))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(params: Value) -> Question {
        Question { method: Question::ELICIT, params }
    }

    #[test]
    fn digest_ignores_the_order_of_members() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":{"c":[1,{"x":1,"y":2}],"d":2}}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b":{"d":2,"c":[1,{"y":2,"x":1}]},"a":1}"#).unwrap();
        assert_eq!(ask(one.clone()).digest(), ask(other).digest());
        for different in [json!({"a": 1}), json!({"a": 1, "b": {"c": [{"x": 1, "y": 2}, 1], "d": 2}}), json!("a")] {
            assert_ne!(ask(one.clone()).digest(), ask(different).digest());
        }
        assert_ne!(ask(one.clone()).digest(), Question { method: Question::SAMPLE, params: one }.digest());
    }

    #[test]
    fn answer_shape_is_checked_by_method() {
        let form = ask(json!({}));
        for action in ["accept", "decline", "cancel"] {
            assert!(form.is_answered_by(&json!({"action": action})));
        }
        for other in [json!({}), json!({"action": "perhaps"}), json!(12345), json!(null), json!({"action": 1})] {
            assert!(!form.is_answered_by(&other), "{other}");
        }
        let roots = Question { method: Question::ROOTS, params: json!({}) };
        assert!(roots.is_answered_by(&json!({"roots": []})) && !roots.is_answered_by(&json!({"roots": {}})));
    }

    #[test]
    fn responses_are_an_object_of_objects() {
        let read = |text: &str| read_responses(Raw::new_unchecked(text)).map(|all| all.len());
        assert_eq!(read("{}").unwrap(), 0);
        assert_eq!(read(r#"{"a":{"action":"accept"},"b":{}}"#).unwrap(), 2);
        for malformed in [r#"{"a":5}"#, r#"{"a":null}"#, r#"{"a":{},"b":{"n":1e999}}"#, "null", "[]"] {
            assert!(read(malformed).is_err(), "{malformed}");
        }
        assert!(read(r#"{"a":{},"a":{}}"#).is_err(), "each key once");
    }
}
