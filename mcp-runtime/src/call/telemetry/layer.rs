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

/// Sends what handlers say with `tracing` to their clients, as `notifications/message`.
///
/// An event belongs to the call whose handler is running when it happens, or, in a task the handler
/// started, to the call in which the span around it was made. Others go nowhere, nor do those of
/// this library, nor those the client does not want: it says which level it wants.
///
/// Made by [`Server::tracing_layer`](crate::Server::tracing_layer). One serves every server of the process that
/// made one; a second in the same subscriber sends everything twice.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientLogLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ClientLogLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if let (Some(log), Some(span)) = (CallLog::current(), ctx.span(id)) {
            // A second layer has been here before.
            span.extensions_mut().replace(log);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let target = event.metadata().target();
        // What we say while sending would have to be sent, too.
        if target.split("::").next() == Some("mcp_runtime") {
            return;
        }
        let of_span = || ctx.event_scope(event)?.find_map(|span| span.extensions().get::<CallLog>().cloned());
        let Some(log) = CallLog::current().or_else(of_span) else { return };
        let level = level(*event.metadata().level());
        if log.wants(level) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            log.say(level, target, &fields.0);
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

    /// What a call tells its client while `work` is done under these layers.
    fn told(layers: impl Subscriber + Send + Sync, work: impl FnOnce()) -> String {
        let (outbox, _told) = mpsc::channel(1);
        let notifier = Arc::new(Notifier::new(outbox, 100));
        let log = CallLog::new(Arc::clone(&notifier), LogLevel::Debug);
        tracing::subscriber::with_default(layers, || CallLog::with(Some(&log), work));
        String::from_utf8(notifier.take()).unwrap()
    }

    #[test]
    fn a_second_layer_does_no_harm() {
        let two = tracing_subscriber::registry().with(ClientLogLayer).with(ClientLogLayer);
        let told = told(two, || tracing::info_span!("span").in_scope(|| tracing::info!(target: "a_user", "said")));
        assert!(told.contains("said"), "{told}");
    }

    #[test]
    fn only_what_we_say_ourselves_is_kept_back() {
        let told = told(tracing_subscriber::registry().with(ClientLogLayer), || {
            tracing::info!(target: "mcp_runtime::inside", "ours");
            tracing::info!(target: "mcp_runtime_tools", "theirs");
        });
        assert!(told.contains("theirs") && !told.contains("ours"), "{told}");
    }
}
