//! The changes to publish: each once, in order, bounded.

use std::collections::VecDeque;

use mcp_runtime::store::Change;

/// The changes that wait to be published.
const QUEUED: usize = 1024;
/// The bytes of the changes that wait, and of one message. A longer change is published as `All`.
const QUEUED_BYTES: usize = 1024 * 1024;
pub(super) const MESSAGE_BYTES: usize = 32 * 1024;

/// The changes to publish, each once, in order.
#[derive(Default)]
pub(super) struct Queue {
    changes: VecDeque<Change>,
    bytes: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn push(&mut self, change: &Change) {
        if self.changes.contains(change) || self.changes.front() == Some(&Change::All) {
            return;
        }
        let bytes = size(change);
        if self.changes.len() >= QUEUED || self.bytes + bytes > QUEUED_BYTES || bytes > MESSAGE_BYTES {
            return self.replace_by_all();
        }
        self.bytes += bytes;
        self.changes.push_back(change.clone());
    }

    fn replace_by_all(&mut self) {
        *self = Queue { changes: VecDeque::from([Change::All]), bytes: size(&Change::All) };
    }

    /// The changes of the next message.
    pub(super) fn take(&mut self) -> Vec<Change> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(change) = self.changes.front()
            && (taken.is_empty() || bytes + size(change) <= MESSAGE_BYTES)
        {
            bytes += size(change);
            taken.extend(self.changes.pop_front());
        }
        self.bytes -= bytes;
        taken
    }

    /// Puts changes back that could not be published.
    pub(super) fn restore(&mut self, taken: &[Change]) {
        let later = std::mem::take(self);
        for change in taken.iter().chain(&later.changes) {
            self.push(change);
        }
    }
}

/// What a change takes in the queue and, roughly, in a message.
fn size(change: &Change) -> usize {
    let text = match change {
        Change::ResourceUpdated(text)
        | Change::Task(text)
        | Change::SessionEnded(text)
        | Change::SessionChanged(text, _)
        | Change::SessionMessage(text, _) => text.len(),
        _ => 0,
    };
    text + 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(uri: impl std::fmt::Display) -> Change {
        Change::ResourceUpdated(format!("{uri}"))
    }

    #[test]
    fn equal_changes_are_queued_once() {
        let mut queue = Queue::default();
        for change in [updated(1), Change::ToolList, updated(1), updated(2), Change::ToolList] {
            queue.push(&change);
        }
        assert_eq!(queue.take(), [updated(1), Change::ToolList, updated(2)]);
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn too_many_or_too_long_changes_are_all() {
        let mut queue = Queue::default();
        (0..=QUEUED).for_each(|number| queue.push(&updated(number)));
        assert_eq!(queue.take(), [Change::All]);
        (0..100).for_each(|number| queue.push(&updated(format!("{number}{}", "x".repeat(MESSAGE_BYTES - 100)))));
        assert_eq!(queue.take(), [Change::All]);
        queue.push(&Change::ToolList);
        queue.push(&updated("x".repeat(MESSAGE_BYTES)));
        queue.push(&Change::PromptList);
        assert_eq!(queue.take(), [Change::All]);
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn messages_are_bounded_and_restored_in_order() {
        let mut queue = Queue::default();
        let long = |number: usize| updated(format!("{number}{}", "x".repeat(MESSAGE_BYTES / 3)));
        (0..5).for_each(|number| queue.push(&long(number)));
        let first = queue.take();
        assert_eq!(first, [long(0), long(1)]);
        queue.push(&long(1));
        queue.restore(&first);
        assert_eq!([queue.take(), queue.take(), queue.take()].concat(), [0, 1, 2, 3, 4].map(long));
    }
}
