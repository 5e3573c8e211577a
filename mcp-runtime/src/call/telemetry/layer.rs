//! A `tracing` layer that sends the events of a call to the client that made it.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::log::CallLog;
use crate::protocol::LogLevel;

/// A `tracing` layer that sends the events of handlers to their clients, as `notifications/message`.
///
/// An event belongs to the call whose handler emits it. In a task or thread that the handler has started, it belongs
/// to the call in which its span was created. Events outside of calls, events of this crate, and events below the
/// client's log level are not sent. Messages above [`Limits::log_rate`](crate::Limits::log_rate) are dropped.
///
/// Created by [`Server::tracing_layer`](crate::Server::tracing_layer). One layer serves all servers of the process
/// that have called that method; a second layer in the same subscriber would send every event twice.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientLogLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ClientLogLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if let (Some(log), Some(span)) = (CallLog::current(), ctx.span(id)) {
            // `replace`, because a second layer may have set it before.
            span.extensions_mut().replace(log);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let target = event.metadata().target();
        // Events of this crate would cause further events while they are sent.
        if target.split("::").next() == Some("mcp_runtime") {
            return;
        }
        let of_span = || ctx.event_scope(event)?.find_map(|span| span.extensions().get::<CallLog>().cloned());
        let Some(log) = CallLog::current().or_else(of_span) else { return };
        let level = level(*event.metadata().level());
        if log.wants(level) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            log.send(level, target, &fields.0);
        }
    }
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        _ => LogLevel::Debug,
    }
}

/// The fields of an event as JSON.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;
    use tracing_subscriber::prelude::*;

    use super::*;
    use crate::call::notifier::Notifier;

    /// The notifications of a call that runs `work` under these layers.
    fn sent(layers: impl Subscriber + Send + Sync, work: impl FnOnce()) -> String {
        let (outbox, _messages) = mpsc::channel(1);
        let notifier = Arc::new(Notifier::new(outbox, 100));
        let log = CallLog::new(Arc::clone(&notifier), LogLevel::Debug);
        tracing::subscriber::with_default(layers, || CallLog::with(Some(&log), work));
        String::from_utf8(notifier.take()).unwrap()
    }

    #[test]
    fn second_layer_does_not_panic() {
        let two = tracing_subscriber::registry().with(ClientLogLayer).with(ClientLogLayer);
        let sent = sent(two, || tracing::info_span!("span").in_scope(|| tracing::info!(target: "a_user", "said")));
        assert!(sent.contains("said"), "{sent}");
    }

    #[test]
    fn events_of_this_crate_are_not_sent() {
        let sent = sent(tracing_subscriber::registry().with(ClientLogLayer), || {
            tracing::info!(target: "mcp_runtime::inside", "ours");
            tracing::info!(target: "mcp_runtime_tools", "theirs");
        });
        assert!(sent.contains("theirs") && !sent.contains("ours"), "{sent}");
    }
}
