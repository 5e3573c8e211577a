//! The calls a client makes, and the correct answer to each.

use std::fmt;

use serde_json::{Value, json};

use crate::Result;

#[derive(Clone, Copy)]
pub enum Tool {
    Add,
    Echo,
    Stats,
}

impl Tool {
    pub const ALL: [Self; 3] = [Self::Add, Self::Echo, Self::Stats];

    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Echo => "echo",
            Self::Stats => "stats",
        }
    }

    /// Arguments differ from call to call, so that no server can answer from memory.
    fn arguments(self, id: u64) -> Value {
        match self {
            Self::Add => json!({ "a": id, "b": 1_000_000 }),
            Self::Echo => json!({ "text": message(id) }),
            Self::Stats => json!({ "numbers": numbers(id) }),
        }
    }

    /// The request line, newline included.
    pub fn request(self, id: u64) -> String {
        let params = json!({ "name": self.name(), "arguments": self.arguments(id) });
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n")
    }

    /// Whether this is the complete and correct answer: a failing server must not look fast.
    pub fn verify(self, id: u64, response: &Value) -> Result<()> {
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str();
        let right = match self {
            Self::Add => text == Some((id + 1_000_000).to_string().as_str()),
            Self::Echo => text == Some(message(id).as_str()),
            Self::Stats => {
                let mirrored: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
                let expected = summary(&numbers(id));
                result["structuredContent"] == expected && mirrored == Some(expected)
            }
        };
        let failed = result["isError"] == true || response.get("error").is_some();
        if right && !failed { Ok(()) } else { Err(format!("wrong answer from `{self}`: {response}").into()) }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A sentence with what JSON has to escape, and what it does not.
fn message(id: u64) -> String {
    format!("Call {id} says:\n\t\"The quick brown fox jumps over the lazy dog – naïvely.\"")
}

/// Halves and quarters, so that every sum is exact and answers can be compared for equality.
#[expect(clippy::cast_precision_loss, reason = "ids stay far below 2^52")]
fn numbers(id: u64) -> Vec<f64> {
    (0..8).map(|step| (id % 1000) as f64 + f64::from(step) * 0.25 - 3.5).collect()
}

#[expect(clippy::cast_precision_loss, reason = "eight numbers")]
fn summary(numbers: &[f64]) -> Value {
    let sum: f64 = numbers.iter().sum();
    json!({
        "count": numbers.len(),
        "sum": sum,
        "mean": sum / numbers.len() as f64,
        "min": numbers.iter().copied().fold(f64::INFINITY, f64::min),
        "max": numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Tool, message, numbers, summary};

    #[test]
    fn accepts_right_answers() {
        let text = |text: &str| json!({ "result": { "content": [{ "type": "text", "text": text }] } });
        assert!(Tool::Add.verify(7, &text("1000007")).is_ok());
        assert!(Tool::Echo.verify(7, &text(&message(7))).is_ok());
        let stats = summary(&numbers(7));
        let content = json!([{ "type": "text", "text": stats.to_string() }]);
        let response = json!({ "result": { "content": content, "structuredContent": stats } });
        assert!(Tool::Stats.verify(7, &response).is_ok());
    }

    #[test]
    fn refuses_what_only_looks_like_an_answer() {
        let content = json!([{ "type": "text", "text": "1000007" }]);
        let other_call = json!({ "result": { "content": content } });
        assert!(Tool::Add.verify(8, &other_call).is_err());
        let failed = json!({ "result": { "content": content, "isError": true } });
        assert!(Tool::Add.verify(7, &failed).is_err());
        assert!(Tool::Add.verify(7, &json!({ "error": { "code": -32603 } })).is_err());
        let unstructured = json!({ "result": { "content": [{ "text": summary(&numbers(7)).to_string() }] } });
        assert!(Tool::Stats.verify(7, &unstructured).is_err());
    }
}
