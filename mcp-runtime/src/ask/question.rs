//! A question to a client as it goes over the wire, and what tells it from another.

use serde::Serialize;
use serde_json::Value;

use crate::outcome::Question;

impl Question {
    pub(super) const ELICIT: &'static str = "elicitation/create";
    pub(super) const SAMPLE: &'static str = "sampling/createMessage";
    pub(super) const ROOTS: &'static str = "roots/list";

    /// What is the same for the same question only. It is no secret and no proof: it tells a handler's
    /// author that a retry asks something else.
    pub(super) fn digest(&self) -> u64 {
        let mut text = self.method.as_bytes().to_vec();
        canonical(&self.params, &mut text);
        // FNV-1a: the same in every process, whatever it was built with.
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// Whether a value has the shape of an answer, whatever the answer is.
    pub(super) fn is_answered_by(&self, value: &Value) -> bool {
        Self::fits(self.method, value)
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

/// JSON that is the same for the same value: objects sorted by their keys.
pub(super) fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (key, value) in members {
                scalar(key, out);
                out.push(b':');
                canonical(value, out);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(params: Value) -> Question {
        Question { method: Question::ELICIT, params }
    }

    #[test]
    fn a_question_is_the_same_in_any_order_of_its_members() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":{"c":[1,{"x":1,"y":2}],"d":2}}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b":{"d":2,"c":[1,{"y":2,"x":1}]},"a":1}"#).unwrap();
        assert_eq!(ask(one.clone()).digest(), ask(other).digest());
        for different in [json!({"a": 1}), json!({"a": 1, "b": {"c": [{"x": 1, "y": 2}, 1], "d": 2}}), json!("a")] {
            assert_ne!(ask(one.clone()).digest(), ask(different).digest());
        }
        assert_ne!(ask(one.clone()).digest(), Question { method: Question::SAMPLE, params: one }.digest());
    }

    #[test]
    fn an_answer_has_the_shape_of_one() {
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
}
