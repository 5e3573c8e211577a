//! The part of a [`Connection`] that handles batches, in the one revision that has them: their answers are one list.

use tokio::sync::mpsc;

use super::connection::{Connection, Handled, Received};
use crate::call::outbox::{Outbox, Outgoing};
use crate::era::batch::{self, Batch};
use crate::jsonrpc::raw::Raw;

impl Connection {
    /// Handles a batch. Its answers are one list, sent when the last of them is complete.
    pub(super) fn batch(&mut self, frame: &[u8], outbox: &Outbox, out: &mut Vec<u8>) -> Received {
        let elements = match batch::elements(frame, self.core.limits.batch) {
            Ok(elements) => elements,
            Err(rejection) => {
                self.core.hooks.protocol_error(frame, &rejection.error);
                let rejected = self.rejected(&rejection, frame.len(), out);
                return self.conclude(rejected, outbox);
            }
        };
        let (answers, pending) = mpsc::channel(elements.len());
        let (mut list, mut notifications) = (Batch::default(), Vec::new());
        let mut has_pending = false;
        self.in_batch = true;
        for element in elements {
            has_pending |= self.batch_element(element, &mut list, &answers, outbox, &mut notifications);
        }
        self.in_batch = false;
        drop(answers);
        if has_pending {
            self.complete_batch(notifications, list, pending, outbox.sender().clone());
            return Received::default();
        }
        out.extend_from_slice(&notifications);
        let list = list.finish();
        let answer_at = (!list.is_empty()).then_some(out.len());
        out.extend_from_slice(&list);
        Received { answer_at, rejected: false }
    }

    /// Handles one message of a batch. Returns true if its answer is pending.
    fn batch_element(
        &mut self,
        element: Raw<'_>,
        list: &mut Batch,
        answers: &mpsc::Sender<Outgoing>,
        outbox: &Outbox,
        notifications: &mut Vec<u8>,
    ) -> bool {
        let mut lines = Vec::new();
        match self.message(batch::element(element), element.get().as_bytes(), outbox, &mut lines) {
            Handled::Nothing => {}
            Handled::Answered { at } | Handled::Rejected { at } => {
                list.add(&lines[at..]);
                notifications.extend_from_slice(&lines[..at]);
            }
            Handled::Waiting(call) => {
                self.spawn(*call, answers.clone());
                return true;
            }
        }
        false
    }

    /// Sends the list of a batch when its last pending answer is complete. The notifications of the calls that
    /// are over go before it, by the same queue: it has their answers.
    fn complete_batch(
        &mut self,
        notifications: Vec<u8>,
        mut list: Batch,
        mut pending: mpsc::Receiver<Outgoing>,
        outbox: mpsc::Sender<Outgoing>,
    ) {
        let running = self.control.in_flight.running();
        let task = async move {
            let _running = running;
            if !notifications.is_empty() {
                let _ = outbox.send(Outgoing::Notification(notifications)).await;
            }
            while let Some(message) = pending.recv().await {
                match message {
                    Outgoing::Answer(line) => list.add(&line),
                    #[cfg(feature = "http")]
                    Outgoing::Refused(refused) => list.add(&refused.into_line()),
                    Outgoing::Notification(_) | Outgoing::Heartbeat(_) | Outgoing::Detach | Outgoing::End => {}
                }
            }
            let list = list.finish();
            if !list.is_empty() {
                // The outbox is closed when the client is gone.
                let _ = outbox.send(Outgoing::Answer(list)).await;
            }
        };
        self.calls.spawn_on(task, &self.runtime);
    }
}
