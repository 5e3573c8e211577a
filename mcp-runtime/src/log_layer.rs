//! A `tracing` layer that sends the events of a call to the client that made it.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::call_log::CallLog;
use crate::protocol::LogLevel;

/// Sends what handlers say with `tracing` to their clients, as `notifications/message`.
///
/// An event belongs to the call whose handler is running when it happens, or, in a task the handler
/// started, to the call in which the span around it was made. Others go nowhere, nor do those of
/// this library, nor those the client does not want: it says which level it wants.
///
/// Made by [`Server::log_layer`](crate::Server::log_layer).
#[derive(Debug)]
#[non_exhaustive]
pub struct LogLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if let (Some(log), Some(span)) = (CallLog::current(), ctx.span(id)) {
            span.extensions_mut().insert(log);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let target = event.metadata().target();
        // What we say while sending would have to be sent, too.
        if target.starts_with("mcp_runtime") {
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
