//! What JSON takes of the memory.

use serde_json::Value;

/// The memory behind a value, without the value itself. Nesting is bounded by `Limits::depth`, or by the handler that
/// made the value.
pub(super) fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(items) => items.capacity() * size_of::<Value>() + items.iter().map(heap_bytes).sum::<usize>(),
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| size_of::<(String, Value)>() + name.capacity() + heap_bytes(value);
            members.iter().map(member).sum()
        }
    }
}
