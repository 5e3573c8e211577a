//! The log of a test: the `tracing` events of its thread, as text.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Keeps the events of a thread: the message, then the fields as `name=value`.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(Level, String)>>>);

impl Log {
    /// The first event with these words.
    pub(crate) fn find(&self, words: &str) -> Option<(Level, String)> {
        self.all(words).into_iter().next()
    }

    /// The events with these words.
    pub(crate) fn all(&self, words: &str) -> Vec<(Level, String)> {
        self.0.lock().unwrap().iter().filter(|(_, text)| text.contains(words)).cloned().collect()
    }
}

struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line { message: String::new(), fields: String::new() };
        event.record(&mut line);
        self.0.lock().unwrap().push((*event.metadata().level(), line.message + &line.fields));
    }
}
