//! The three tools: their descriptors, their arguments and their results.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::rpc::{Failure, INVALID_PARAMS, write_json};

pub const LIST: &str = concat!(
    r#"{"tools":["#,
    r#"{"name":"add","description":"Add two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer","format":"int64"},"b":{"type":"integer","format":"int64"}},"required":["a","b"]}},"#,
    r#"{"name":"echo","description":"Return the text unchanged.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},"#,
    r#"{"name":"stats","description":"Summarize numbers.","inputSchema":{"type":"object","properties":{"numbers":{"type":"array","items":{"type":"number","format":"double"}}},"required":["numbers"]},"#,
    r#""outputSchema":{"type":"object","properties":{"count":{"type":"integer","format":"uint64","minimum":0},"sum":{"type":"number"},"mean":{"type":"number"},"min":{"type":"number"},"max":{"type":"number"}},"required":["count","sum","mean","min","max"]}}"#,
    "]}"
);

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Echo<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Numbers {
    numbers: Vec<f64>,
}

#[derive(Serialize)]
struct Stats {
    count: u64,
    sum: f64,
    mean: f64,
    min: f64,
    max: f64,
}

/// Appends the result of `tools/call`; invalid arguments become an error result for the model, not a protocol error.
pub fn call(params: Option<&RawValue>, out: &mut Vec<u8>) -> Result<(), Failure> {
    let params = params.map_or("{}", RawValue::get);
    let call: Call<'_> =
        serde_json::from_str(params).map_err(|error| Failure::new(INVALID_PARAMS, error.to_string()))?;
    let arguments = call.arguments.map_or("{}", RawValue::get);
    let outcome = match &*call.name {
        "add" => add(arguments, out),
        "echo" => echo(arguments, out),
        "stats" => stats(arguments, out),
        other => {
            let text = format!("unknown tool: {other}");
            return Err(Failure::new(INVALID_PARAMS, text));
        }
    };
    if let Err(error) = outcome {
        text_content(&error.to_string(), out);
        out.extend_from_slice(br#","isError":true}"#);
    }
    Ok(())
}

fn add(arguments: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let Add { a, b } = serde_json::from_str(arguments)?;
    text_content(&(a + b).to_string(), out);
    out.push(b'}');
    Ok(())
}

fn echo(arguments: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let Echo { text } = serde_json::from_str(arguments)?;
    text_content(&text, out);
    out.push(b'}');
    Ok(())
}

fn stats(arguments: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let Numbers { numbers } = serde_json::from_str(arguments)?;
    let json = serde_json::to_string(&summarize(&numbers))?;
    text_content(&json, out);
    out.extend_from_slice(br#","structuredContent":"#);
    out.extend_from_slice(json.as_bytes());
    out.push(b'}');
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no client sends 2^52 numbers")]
fn summarize(numbers: &[f64]) -> Stats {
    let sum: f64 = numbers.iter().sum();
    let count = numbers.len();
    Stats {
        count: count as u64,
        sum,
        mean: sum / count.max(1) as f64,
        min: numbers.iter().copied().reduce(f64::min).unwrap_or(0.0),
        max: numbers.iter().copied().reduce(f64::max).unwrap_or(0.0),
    }
}

/// Opens a result with one text block; the caller closes the object.
fn text_content(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
    write_json(text, out);
    out.extend_from_slice(b"}]");
}
