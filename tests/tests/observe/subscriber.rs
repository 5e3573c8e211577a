//! The subscriber of this process: servers run on threads of their own, so there is one for all tests. Tests find what is
//! theirs by names that no other test uses.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use mcp_tests::http::until;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

/// The lines of the access log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Lines {
    pub(crate) fn all(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

/// What the subscriber has collected.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) access_log: Lines,
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Collected {
    /// The first span of this kind that has ended, once there is one.
    pub(crate) async fn span(&self, is_it: impl Fn(&SpanData) -> bool) -> SpanData {
        let found = || {
            self.provider.force_flush().unwrap();
            self.exporter.get_finished_spans().unwrap().into_iter().find(&is_it)
        };
        until(|| found().is_some()).await;
        found().unwrap()
    }

    /// The span with this name.
    pub(crate) async fn named(&self, name: &str) -> SpanData {
        self.span(|span| span.name == name).await
    }

    /// How many spans of this kind have ended.
    pub(crate) fn count(&self, is_it: impl Fn(&SpanData) -> bool) -> usize {
        self.exporter.get_finished_spans().unwrap().into_iter().filter(is_it).count()
    }
}

/// An attribute of a span.
pub(crate) fn attribute(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| pair.value.to_string())
}

static COLLECTED: LazyLock<Collected> = LazyLock::new(|| {
    let lines = Lines::default();
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let spans = Targets::new()
        .with_target("mcp_runtime::call", tracing::Level::INFO)
        .with_target("mcp_runtime::ask", tracing::Level::INFO)
        .with_target("observe", tracing::Level::INFO);
    let traces = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
    let access = Targets::new().with_target("mcp_runtime::access", tracing::Level::INFO);
    let log = tracing_subscriber::fmt::layer().with_writer(lines.clone()).with_ansi(false).without_time();
    tracing_subscriber::registry().with(traces.with_filter(spans)).with(log.with_filter(access)).init();
    Collected { access_log: lines, exporter, provider }
});

/// Sets the subscriber, and returns what it collects.
pub(crate) fn set() -> &'static Collected {
    &COLLECTED
}
