//! Bookkeeping of a conversation: the requests of each id, and the responses to them.

use std::collections::BTreeMap;

use mcp_runtime::Revision;
use serde_json::Value;

use super::ops::{IDS, Op, What, tagged};

/// What was asked with one id, and what was answered.
#[derive(Debug, Default)]
pub(super) struct Account {
    requests: Vec<Asked>,
    cancellations: usize,
    tags: Vec<usize>,
    /// Answers that do not tell which request they are for: errors, pings.
    pub(super) others: usize,
}

#[derive(Debug)]
struct Asked {
    tag: Option<usize>,
    waits: bool,
    /// Whether a cancellation of the id came later.
    cancelled: bool,
}

impl Account {
    pub(super) fn check(&self) -> Result<(), String> {
        let (asked, answered) = (self.requests.len(), self.tags.len() + self.others);
        // A cancellation stops one call at most.
        let stoppable = self.requests.iter().filter(|request| request.waits && request.cancelled).count();
        let least = asked - stoppable.min(self.cancellations);
        if answered > asked || answered < least {
            return Err(format!("{answered} answers to {asked} requests, of which {least} are owed one"));
        }
        for (index, tag) in self.tags.iter().enumerate() {
            if self.tags[..index].contains(tag) || !self.requests.iter().any(|request| request.tag == Some(*tag)) {
                return Err(format!("tag {tag} is answered twice, or with another's id"));
            }
        }
        // A call that was not cancelled has its own response: with its tag, or one without a tag.
        let told = |request: &&Asked| request.tag.is_some_and(|tag| self.tags.contains(&tag));
        let untold = self.requests.iter().filter(|request| !request.cancelled && !told(request)).count();
        if untold > self.others {
            return Err(format!("{untold} requests lack an answer, and there are {} others", self.others));
        }
        Ok(())
    }
}

/// The accounts by id; `null` has the arrays that are no batches.
pub(super) fn accounts(revision: Revision, ops: &[Op], lines: &[String]) -> Result<BTreeMap<String, Account>, String> {
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    let mut book = |op: &Op, tag: usize| match op {
        Op::Request { id, what, .. } => {
            let tag = matches!(what, What::Tagged(..)).then_some(tag);
            let asked = Asked { tag, waits: what.waits(), cancelled: false };
            accounts.entry(IDS[*id].0.to_owned()).or_default().requests.push(asked);
        }
        Op::Cancel { id } => {
            let account = accounts.entry(IDS[*id].0.to_owned()).or_default();
            account.cancellations += 1;
            account.requests.iter_mut().for_each(|request| request.cancelled = true);
        }
        Op::Batch(_) => {
            let asked = Asked { tag: None, waits: false, cancelled: false };
            accounts.entry("null".to_owned()).or_default().requests.push(asked);
        }
        Op::Pause { .. } => {}
    };
    for (tag, op) in tagged(ops) {
        match op {
            Op::Batch(ops) if revision == Revision::V2025_03_26 => {
                ops.iter().zip(tag..).for_each(|(op, tag)| book(op, tag));
            }
            op => book(op, tag),
        }
    }
    for line in lines {
        let said: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let answers = if let Value::Array(answers) = said { answers } else { vec![said] };
        for answer in answers {
            let well_formed =
                answer["jsonrpc"] == "2.0" && (answer["result"].is_object() != answer["error"].is_object());
            // Longer integers than Rust's come back as they went, and only text shows that.
            let long = line.contains(IDS[4].0) && answer["id"].is_f64();
            let id = if long { IDS[4].0.to_owned() } else { answer["id"].to_string() };
            let account = accounts.get_mut(&id).filter(|_| well_formed).ok_or_else(|| format!("for nobody: {line}"))?;
            let text = answer["result"]["content"][0]["text"].as_str().and_then(|text| text.strip_prefix("tag "));
            match text.and_then(|tag| tag.parse().ok()) {
                Some(tag) => account.tags.push(tag),
                None => account.others += 1,
            }
        }
    }
    Ok(accounts)
}
