//! The metrics: an `Observer` that counts what it is told.

use std::fmt::Error;
use std::sync::Arc;

use mcp_runtime::observe::{Finished, Observer};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// From 50 microseconds to 14 minutes, in factors of four: most calls of a Rust server take less than a millisecond.
const BUCKETS: [f64; 13] =
    [0.000_05, 0.000_2, 0.000_8, 0.003_2, 0.012_8, 0.051_2, 0.204_8, 0.819_2, 3.276_8, 13.1, 52.4, 209.7, 838.9];

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

/// The labels of a request. All of them have few values, whatever clients send.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Labels {
    method: Box<str>,
    target: Box<str>,
    outcome: &'static str,
    transport: &'static str,
}

impl Labels {
    fn of(request: &Finished<'_>) -> Self {
        Labels {
            method: request.method.into(),
            target: request.target.unwrap_or_default().into(),
            outcome: request.outcome.as_str(),
            transport: request.transport.as_str(),
        }
    }
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), Error> {
        [("method", &*self.method), ("target", &*self.target), ("outcome", self.outcome), ("transport", self.transport)]
            .encode(encoder)
    }
}

/// The metrics of a server, for its `observe` and for the page that Prometheus reads.
#[derive(Debug, Clone)]
pub struct Metrics {
    seconds: Family<Labels, Histogram>,
    bytes_in: Counter,
    bytes_out: Counter,
    registry: Arc<Registry>,
}

impl Metrics {
    /// Metrics of a server that has answered nothing yet.
    pub fn new() -> Self {
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let (bytes_in, bytes_out) = (Counter::default(), Counter::default());
        let mut registry = Registry::with_prefix("mcp");
        let help = "How long requests took, by method, target, outcome and transport";
        registry.register_with_unit("request_duration", help, Unit::Seconds, Family::clone(&seconds));
        registry.register_with_unit("received", "The length of requests", Unit::Bytes, bytes_in.clone());
        registry.register_with_unit("sent", "The length of answers", Unit::Bytes, bytes_out.clone());
        Metrics { seconds, bytes_in, bytes_out, registry: Arc::new(registry) }
    }

    /// The page that Prometheus reads.
    pub fn page(&self) -> String {
        let mut page = String::new();
        // Writing to memory cannot fail.
        let _ = encode(&mut page, &self.registry);
        page
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Metrics {
    fn finished(&self, request: &Finished<'_>) {
        self.seconds.get_or_create(&Labels::of(request)).observe(request.duration.as_secs_f64());
        self.bytes_in.inc_by(request.bytes_in as u64);
        self.bytes_out.inc_by(request.bytes_out as u64);
    }
}
