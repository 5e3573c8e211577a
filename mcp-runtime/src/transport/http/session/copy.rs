//! The copy that this replica has of a session in a store: made of its record, and brought up to date with later ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::stores::Stores;
use super::{Opener, Session, Sessions};
use crate::dispatch::connection::Connection;
use crate::era;
use crate::era::client_info::ClientInfo;
use crate::limits::Limits;
use crate::observe::Transport;
use crate::server::core::Core;
use crate::store::{Change, ChangeListener as _, SessionRecord, Unavailable, with_timeout};

/// A session in use is touched in the store whenever this part of its idle timeout has passed.
const TOUCH_PART: u32 = 16;

/// Makes a copy of a session this replica does not have.
pub(super) fn restore(
    stores: &Arc<Stores>,
    core: &Arc<Core>,
    id: &str,
    record: &SessionRecord,
    asked: Instant,
) -> Session {
    let mut connection = Connection::new(Arc::clone(core), Handle::current());
    connection.session =
        era::LegacySession::restored(record.revision, ClientInfo::remembered(&record.initialize_params));
    connection.follow_changes();
    connection.belongs_to(Transport::HttpSession, id);
    connection.initialized = record.initialized;
    let copied = Some(stores.session(id, record.clone(), asked));
    let opener = Opener { principal: record.principal.as_deref(), ..Opener::default() };
    let session = Session::new(connection, opener, record.age(), copied);
    apply(&session, record, asked);
    session
}

/// Applies a record to a copy that was last compared with the store at `since`. The client is told of updates since then
/// of what it has subscribed to elsewhere.
fn apply(session: &Session, record: &SessionRecord, since: Instant) {
    let mut connection = session.connection();
    connection.session.set_log_level(record.log_level);
    connection.initialized |= record.initialized;
    let Some((subscription, stored)) = session.subscription.as_ref().zip(session.stored.as_ref()) else { return };
    for uri in subscription.set_resources(&record.subscriptions) {
        if stored.stores.recent_updates.may_include(&uri, since) {
            subscription.changed(&Change::ResourceUpdated(uri));
        }
    }
}

/// Whether a copy is different from the record it was made of.
pub(super) fn has_changed(session: &Session, base: &SessionRecord) -> bool {
    let connection = session.connection();
    connection.session.log_level() != base.log_level
        || connection.initialized && !base.initialized
        || session.subscription.as_ref().is_some_and(|subscription| !subscription.has_resources(&base.subscriptions))
}

/// The record of a copy as it is now, given the one it was made of.
pub(super) fn snapshot(session: &Session, base: &SessionRecord) -> SessionRecord {
    let connection = session.connection();
    let mut now = base.clone();
    now.log_level = connection.session.log_level();
    now.initialized |= connection.initialized;
    if let Some(subscription) = &session.subscription {
        now.subscriptions = subscription.resources();
    }
    now
}

/// Merges what other replicas have written, as of `asked`, with what was changed here and not written yet.
pub(super) fn merge(session: &Session, newer: SessionRecord, asked: Instant) {
    let Some(stored) = &session.stored else { return };
    let mut state = stored.state();
    let since = state.loaded(asked);
    if newer.version <= state.record.version {
        return;
    }
    let (base, here) = (&state.record, snapshot(session, &state.record));
    let mut merged = newer.clone();
    if here.log_level != base.log_level {
        merged.log_level = here.log_level;
    }
    merged.initialized |= here.initialized;
    merged.subscriptions.extend(here.subscriptions.difference(&base.subscriptions).cloned());
    merged.subscriptions.retain(|uri| here.subscriptions.contains(uri) || !base.subscriptions.contains(uri));
    apply(session, &merged, since);
    state.record = newer;
}

/// Ends a copy whose session is over.
pub(super) fn end_copy(sessions: &Sessions, id: &str) {
    if let Some(session) = sessions.remove(id) {
        drop(session.control.abort());
    }
}

/// The time to live of a session that is used now. A little longer than the idle timeout, because not every
/// request touches the session in the store.
pub(super) fn ttl(limits: &Limits, record: &SessionRecord) -> Duration {
    let idle = limits.session_idle_timeout.saturating_add(limits.session_idle_timeout / TOUCH_PART);
    idle.min(limits.session_lifetime.saturating_sub(record.age()))
}

/// Extends the session's time to live in the store, if that is due.
pub(super) async fn touch(session: &Session) -> Result<(), Unavailable> {
    let Some(stored) = &session.stored else { return Ok(()) };
    let limits = &session.core.limits;
    let ttl = {
        let mut state = stored.state();
        if state.touched.elapsed() < limits.session_idle_timeout / TOUCH_PART {
            return Ok(());
        }
        state.touched = Instant::now();
        ttl(limits, &state.record)
    };
    let touch = stored.stores.sessions.touch(&stored.id, ttl);
    with_timeout(limits.store_timeout, "touch session", touch).await.map(drop)
}
