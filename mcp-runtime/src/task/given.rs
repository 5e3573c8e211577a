//! The answers that a durable task remembers: other runs get them without asking.

use serde_json::{Value, json};

use crate::jsonrpc::error::RpcError;
use crate::store::{GivenAnswer, TaskRecord};

/// Moves an answer in a record from those that wait to be read to those that other runs get, and returns it. If there is no
/// room for it, an error takes its place.
pub(super) fn move_answer(task: &mut TaskRecord, key: &str, question: u64, limit: usize) -> Option<Value> {
    let call = task.durable.as_mut()?;
    let Some(mut answer) = task.answers.remove(key) else {
        // It was moved already, if the reply of the store was lost.
        return call.answered.get(key)?.answer.clone();
    };
    if call.remembered_bytes() + answer.to_string().len() > limit {
        let text = format!("The answers to this task have more than the {limit} bytes that it can remember");
        answer = json!({"error": RpcError::invalid_params(text)});
    }
    call.answered.insert(key.to_owned(), GivenAnswer { question, answer: Some(answer.clone()) });
    Some(answer)
}
