//! What a client does in a conversation: operations, how they are chosen and what their lines are.

use mcp_runtime::{Revision, prelude::*};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// One thing a client does.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Request { id: usize, what: What, modern: bool },
    Cancel { id: usize },
    Batch(Vec<Op>),
    Pause { ms: u64 },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// `ping`, or `server/discover` in the modern era.
    Hello,
    Tagged(&'static str, u64),
    Untagged(&'static str),
}

impl What {
    /// Whether a cancellation can come in time.
    pub(super) fn waits(self) -> bool {
        !matches!(self, What::Hello | What::Tagged("quick", _) | What::Untagged("panic"))
    }
}

/// The ids, few enough to meet often; the last is not used by [`ops`]. Strings are spelled differently in a cancellation.
pub(super) const IDS: [(&str, &str); 6] = [
    ("100", "100"),
    ("-7", "-7"),
    (r#""100""#, r#""\u0031\u0030\u0030""#),
    (r#""é""#, r#""\u00e9""#),
    ("12345678901234567890123", "12345678901234567890123"),
    (r#""never""#, r#""never""#),
];

pub(super) fn op() -> impl Strategy<Value = Op> {
    let what = prop_oneof![
        Just(What::Hello),
        Just(What::Tagged("quick", 0)),
        (0..4_u64).prop_map(|ms| What::Tagged("nap", ms)),
        (0..3_u64).prop_map(|ms| What::Tagged("crunch", ms)),
        (0..3_u64).prop_map(|ms| What::Tagged("block", ms)),
        Just(What::Untagged("panic")),
        Just(What::Untagged("panic_later")),
        Just(What::Untagged("panic_blocking")),
        Just(What::Untagged("overdue")),
    ];
    let id = 0..IDS.len() - 1;
    let request = (id.clone(), what, any::<bool>()).prop_map(|(id, what, modern)| Op::Request { id, what, modern });
    let single = prop_oneof![4 => request, 2 => id.prop_map(|id| Op::Cancel { id })];
    prop_oneof![
        8 => single.clone(),
        2 => vec(single, 1..5).prop_map(Op::Batch),
        2 => (0..3_u64).prop_map(|ms| Op::Pause { ms }),
    ]
}

pub(super) fn legacy() -> impl Strategy<Value = Revision> {
    (0..4_usize).prop_map(|index| Revision::ALL[index])
}

/// Operations with a tag each, and some to spare for the elements of a batch.
pub(super) fn tagged(ops: &[Op]) -> impl Iterator<Item = (usize, &Op)> {
    (0..).step_by(10).zip(ops)
}

/// The line of an operation.
pub(super) fn line(op: &Op, tag: usize) -> String {
    match op {
        Op::Batch(ops) => {
            let lines: Vec<String> = ops.iter().zip(tag..).map(|(op, tag)| line(op, tag)).collect();
            format!("[{}]", lines.join(","))
        }
        Op::Cancel { id } => {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#, IDS[*id].1)
        }
        Op::Request { id, what, modern } => {
            let (method, mut params) = match what {
                What::Hello => (if *modern { "server/discover" } else { "ping" }, json!({})),
                What::Untagged(tool) => ("tools/call", json!({"name": tool})),
                What::Tagged("quick", _) => ("tools/call", json!({"name": "quick", "arguments": {"tag": tag}})),
                What::Tagged(tool, ms) => ("tools/call", json!({"name": tool, "arguments": {"tag": tag, "ms": ms}})),
            };
            if *modern {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
            }
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, IDS[*id].0)
        }
        Op::Pause { .. } => String::new(),
    }
}
