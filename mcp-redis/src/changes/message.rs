//! A message between replicas: JSON, which later versions may add kinds of changes to.

use mcp_runtime::store::Change;
use serde::{Deserialize, Serialize};

/// Some changes of one replica, on the channel.
#[derive(Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) sender: String,
    pub(super) changes: Vec<Entry>,
}

/// A change. Newer replicas may send kinds that this one does not know, and has no clients for.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
}

impl Entry {
    pub(super) fn of(change: &Change) -> Option<Self> {
        let mut position = None;
        let (kind, id) = match change {
            Change::ToolList => ("tools", None),
            Change::PromptList => ("prompts", None),
            Change::ResourceList => ("resources", None),
            Change::ResourceUpdated(uri) => ("resource", Some(uri.clone())),
            Change::Task(id) => ("task", Some(id.clone())),
            Change::SessionEnded(digest) => ("session-ended", Some(digest.clone())),
            Change::SessionChanged(digest, version) => {
                position = Some(*version);
                ("session-changed", Some(digest.clone()))
            }
            Change::SessionMessage(digest, at) => {
                position = Some(*at);
                ("session-message", Some(digest.clone()))
            }
            Change::All => ("all", None),
            _ => return None,
        };
        Some(Entry { kind: kind.to_owned(), id, position })
    }

    pub(super) fn change(self) -> Option<Change> {
        Some(match (self.kind.as_str(), self.id) {
            ("session-ended", Some(digest)) => Change::SessionEnded(digest),
            ("session-changed", Some(digest)) => Change::SessionChanged(digest, self.position?),
            ("session-message", Some(digest)) => Change::SessionMessage(digest, self.position?),
            ("tools", _) => Change::ToolList,
            ("prompts", _) => Change::PromptList,
            ("resources", _) => Change::ResourceList,
            ("resource", Some(uri)) => Change::ResourceUpdated(uri),
            ("task", Some(id)) => Change::Task(id),
            ("all", _) => Change::All,
            _ => return None,
        })
    }
}
