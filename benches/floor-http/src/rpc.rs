//! JSON-RPC and one tool: a body in, a body out.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The only revision this server supports, whatever the client requests.
const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

/// The response to a body. A malformed one gets an empty response, which the driver counts as a failure.
pub fn answer(body: &[u8]) -> Vec<u8> {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else { return Vec::new() };
    let Some(id) = message.id.map(RawValue::get) else { return Vec::new() };
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(br#","result":"#);
    match (&*message.method, message.params.map(RawValue::get)) {
        ("initialize", _) => out.extend_from_slice(INITIALIZED.as_bytes()),
        ("tools/call", Some(params)) => match add(params) {
            Ok(sum) => {
                out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
                out.extend_from_slice(sum.to_string().as_bytes());
                out.extend_from_slice(br#""}]}"#);
            }
            Err(_) => return Vec::new(),
        },
        _ => return Vec::new(),
    }
    out.push(b'}');
    out
}

fn add(params: &str) -> serde_json::Result<i64> {
    let call: Call<'_> = serde_json::from_str(params)?;
    if call.name != "add" {
        return Err(serde::de::Error::custom("unknown tool"));
    }
    let Add { a, b } = serde_json::from_str(call.arguments.get())?;
    Ok(a + b)
}
