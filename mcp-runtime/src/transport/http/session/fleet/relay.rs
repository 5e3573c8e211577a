//! Messages about calls of other replicas. A load balancer may send the cancellation of a call, or the answer to a
//! question, to a replica that knows nothing of it. That replica pushes it to the session's inbox in the store and
//! publishes where it is; the one that has the call or the question reads it there.
//!
//! The change is a hint: a replica that missed it finds the message when it next refreshes its busy copies, once a
//! second. A copy without calls or questions does not read, it moves its position. A replica forwards only what it does not
//! know itself, and never what it read. A request costs nothing of this.

use std::time::{Duration, SystemTime};

use crate::dispatch::relay::{apply, is_for_another};
use crate::era::batch;
use crate::jsonrpc;
use crate::store::{Change, Unavailable, with_timeout};
use crate::transport::http::session::Session;
use crate::transport::http::session::stores::{Reading, StoredSession};

/// How long a message waits in the inbox. It is read at once, or a second later; longer only while the store is away.
const TTL: Duration = Duration::from_secs(60);
/// How far the clocks of replicas may be apart.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// Pushes a message to the session's inbox if it is about a call or a question of another replica.
pub(crate) async fn forward(session: &Session, frame: &[u8]) -> Result<(), Unavailable> {
    let Some(stored) = stored_with_inbox(session) else { return Ok(()) };
    match jsonrpc::parse(frame) {
        Ok(message) if is_for_another(&session.control, &message) => push(session, stored, frame).await,
        _ => Ok(()),
    }
}

/// Like [`forward`], for the messages of a batch.
pub(crate) async fn forward_batch(session: &Session, frame: &[u8]) -> Result<(), Unavailable> {
    let Some(stored) = stored_with_inbox(session) else { return Ok(()) };
    // What is wrong with a batch is answered by who receives it.
    if !session.connection().session.has_batches() {
        return Ok(());
    }
    let Ok(elements) = batch::elements(frame, session.core.limits.batch) else { return Ok(()) };
    for element in elements {
        if batch::element(element).is_ok_and(|message| is_for_another(&session.control, &message)) {
            push(session, stored, element.get().as_bytes()).await?;
        }
    }
    Ok(())
}

fn stored_with_inbox(session: &Session) -> Option<&StoredSession> {
    session.stored.as_deref().filter(|stored| stored.stores.inbox.is_some())
}

async fn push(session: &Session, stored: &StoredSession, frame: &[u8]) -> Result<(), Unavailable> {
    let Some(inbox) = &stored.stores.inbox else { return Ok(()) };
    // When it was sent, and the message.
    let message = [format!("{} ", ms(SystemTime::now())).as_bytes(), frame].concat();
    let push = inbox.push(&stored.id, &message, TTL);
    let position = with_timeout(session.core.limits.store_timeout, "push to inbox", push).await?;
    session.core.shared.publish(&Change::SessionMessage(stored.digest.clone(), position));
    Ok(())
}

/// Reads the session's inbox if it has calls or questions, and applies what is new.
pub(crate) async fn read(session: &Session) -> Result<(), Unavailable> {
    let Some(stored) = stored_with_inbox(session).filter(|_| has_calls(session)) else { return Ok(()) };
    let Some(inbox) = &stored.stores.inbox else { return Ok(()) };
    let Some(mut reading) = stored.start_reading() else { return Ok(()) };
    loop {
        let read = inbox.read_after(&stored.id, reading.position);
        let messages = with_timeout(session.core.limits.store_timeout, "read inbox", read).await?;
        for (position, message) in messages {
            reading.position = reading.position.max(position);
            deliver(session, stored, &message);
        }
        match reading.finish() {
            Some(again) => reading = again,
            None => return Ok(()),
        }
    }
}

fn deliver(session: &Session, stored: &StoredSession, message: &[u8]) {
    let Some(space) = message.iter().position(|byte| *byte == b' ') else { return };
    let (sent, frame) = (std::str::from_utf8(&message[..space]).map(str::parse::<u64>), &message[space..]);
    let Ok(Ok(sent)) = sent else { return };
    // A new copy reads from the start. A client may use the id of a cancelled request again, though it should not.
    let copied = ms(stored.copied.checked_sub(CLOCK_SKEW).unwrap_or(SystemTime::UNIX_EPOCH));
    apply(&session.control, frame, session.core.limits.depth, sent < copied);
}

/// Whether a message could be about something of this copy.
pub(super) fn has_calls(session: &Session) -> bool {
    session.control.in_flight.is_busy() || session.control.pending_requests.is_waiting()
}

fn ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Reading<'_> {
    /// Ends the reading. If the inbox got another message meanwhile, it begins again.
    fn finish(self) -> Option<Self> {
        let stored = self.stored;
        drop(self);
        stored.has_news().then(|| stored.start_reading()).flatten()
    }
}
