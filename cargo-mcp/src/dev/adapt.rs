//! What the supervisor changes in messages, so that a client listens for changes the server did not promise, and what
//! it answers in the server's place.
//!
//! The next version may have the first tool, prompt or resource of a server, and capabilities are negotiated once. So
//! all three are announced with `listChanged`, and a list the server does not know is empty.

use serde_json::{Map, Value, json};

use super::catalog::List;
use super::message::{Id, METHOD_NOT_FOUND, Message, SUBSCRIPTION_KEY, response, value};

/// The longest error shown to a model: what fits beside a conversation.
const SHOWN_BYTES: usize = 6_000;

/// The result of `initialize` or `server/discover`, with the capabilities of a server that can change.
pub(crate) fn announce(message: &Message<'_>) -> String {
    let mut result = value(message.result);
    let Some(result_members) = result.as_object_mut() else { return message.with_result(&result) };
    let capabilities = result_members.entry("capabilities").or_insert_with(|| json!({}));
    let Some(capabilities) = capabilities.as_object_mut() else { return message.with_result(&result) };
    for list in List::CAPABILITIES {
        let capability = capabilities.entry(list.capability()).or_insert_with(|| json!({}));
        if let Some(capability) = capability.as_object_mut() {
            capability.insert("listChanged".to_owned(), Value::Bool(true));
        }
    }
    message.with_result(&result)
}

/// The empty result of a list the server says it does not have.
pub(crate) fn empty_list(message: &Message<'_>, id: &Id, method: &str, modern: bool) -> Option<String> {
    let list = List::of_method(method)?;
    if message.error_code() != Some(METHOD_NOT_FOUND) {
        return None;
    }
    let mut result = Map::new();
    if modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    result.insert(list.member().to_owned(), json!([]));
    if modern {
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    Some(response(id, &Value::Object(result)))
}

/// The acknowledgement of a `subscriptions/listen` with the list changes its filter asks for.
pub(crate) fn acknowledge(message: &Message<'_>, filter: &Value) -> String {
    let mut params = message.params();
    if let Some(agreed) = params.get_mut("notifications").and_then(Value::as_object_mut) {
        for list in List::CAPABILITIES {
            if wanted(filter, list) {
                agreed.insert(list.filter().to_owned(), Value::Bool(true));
            }
        }
    }
    message.with_params(&params)
}

/// The acknowledgement of a stream that only the supervisor holds.
pub(crate) fn own_acknowledgement(id: &Id, filter: &Value) -> String {
    let wanted = List::CAPABILITIES.into_iter().filter(|list| wanted(filter, *list));
    let agreed: Map<String, Value> = wanted.map(|list| (list.filter().to_owned(), Value::Bool(true))).collect();
    on_stream(id, "notifications/subscriptions/acknowledged", &[("notifications", Value::Object(agreed))])
}

/// A notification on the stream of a `subscriptions/listen`.
pub(crate) fn on_stream(id: &Id, method: &str, members: &[(&str, Value)]) -> String {
    let subscription: Value = serde_json::from_str(id.json()).unwrap_or(Value::Null);
    let mut params = Map::new();
    params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_KEY: subscription }));
    params.extend(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    super::message::notification(method, &Value::Object(params))
}

/// Whether the filter of a `subscriptions/listen` asks for the changes of a list.
pub(crate) fn wanted(filter: &Value, list: List) -> bool {
    filter.get(list.filter()) == Some(&Value::Bool(true))
}

/// The resources a filter names.
pub(crate) fn wanted_resources(filter: &Value) -> impl Iterator<Item = &str> {
    filter.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The result of a `tools/call` that tells the model that its change does not work.
pub(crate) fn broken_build(id: &Id, failure: &str, serving: bool, modern: bool) -> String {
    let next = if serving {
        "The version from before this change is still serving; repeat the call to run it."
    } else {
        "No version of the server has been built yet; calls wait until one is."
    };
    let text = format!("The server's source was changed, but {}\n\n{next}", shown(failure));
    let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    if modern {
        result["resultType"] = json!("complete");
    }
    response(id, &result)
}

/// A failure, cut to a bounded size.
pub(crate) fn shown(failure: &str) -> String {
    if failure.len() <= SHOWN_BYTES {
        return failure.to_owned();
    }
    let end = (0..=SHOWN_BYTES).rev().find(|&at| failure.is_char_boundary(at)).unwrap_or(0);
    format!("{}\n[cut after {SHOWN_BYTES} bytes; the rest is in the terminal of `cargo mcp dev`]", &failure[..end])
}
