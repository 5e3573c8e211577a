//! [`OtelMetrics`]: the histograms of OpenTelemetry's conventions for MCP.

use opentelemetry::metrics::{Histogram, Meter};
use opentelemetry::{KeyValue, global};

use super::{Asked, Finished, Notified, Observer, SessionEnded, Transport};

/// The conventions' buckets, in seconds. A view of the application's can set others: many calls take less than 10 ms.
const BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1., 2., 5., 10., 30., 60., 120., 300.];

/// An [`Observer`] that records the histograms of [OpenTelemetry's conventions for
/// MCP](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md), in seconds:
/// `mcp.server.operation.duration` of requests and notifications, `mcp.client.operation.duration` of questions to clients, and
/// `mcp.server.session.duration`. Requires the feature `otel`.
///
/// The exporter is the application's: set the global meter provider first. Without one, nothing is recorded.
///
/// ```
/// use mcp_runtime::Server;
/// use mcp_runtime::observe::{OtelMetrics, Spans};
///
/// // opentelemetry::global::set_meter_provider(…);
/// let server = Server::new("notes", "1.0.0").spans(Spans::new()).observe(OtelMetrics::new());
/// ```
#[derive(Debug, Clone)]
pub struct OtelMetrics {
    operations: Histogram<f64>,
    questions: Histogram<f64>,
    sessions: Histogram<f64>,
}

impl OtelMetrics {
    /// Records through the global meter provider, which must be set before.
    pub fn new() -> Self {
        Self::with_meter(&global::meter("mcp_runtime"))
    }

    /// Records through this meter.
    pub fn with_meter(meter: &Meter) -> Self {
        let histogram = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(BUCKETS.to_vec()).build()
        };
        OtelMetrics {
            operations: histogram("mcp.server.operation.duration", "From a request to its answer"),
            questions: histogram("mcp.client.operation.duration", "From a question to the client's response"),
            sessions: histogram("mcp.server.session.duration", "From `initialize` to the end of the session"),
        }
    }
}

impl Default for OtelMetrics {
    fn default() -> Self {
        Self::new()
    }
}

fn protocol(transport: Transport) -> Option<KeyValue> {
    transport.protocol().map(|name| KeyValue::new("network.protocol.name", name))
}

fn version(http: Option<&'static str>) -> Option<KeyValue> {
    http.map(|version| KeyValue::new("network.protocol.version", version))
}

impl Observer for OtelMetrics {
    fn finished(&self, request: &Finished<'_>) {
        let mut attributes = Vec::with_capacity(10);
        attributes.push(KeyValue::new("mcp.method.name", request.method.to_owned()));
        match (request.method, request.target) {
            ("tools/call", Some(tool)) => {
                attributes.push(KeyValue::new("gen_ai.tool.name", tool.to_owned()));
                attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            }
            // That of a completion may be the template of a resource.
            ("completion/complete", Some(target)) if target.contains(':') => {}
            ("prompts/get" | "completion/complete", Some(prompt)) => {
                attributes.push(KeyValue::new("gen_ai.prompt.name", prompt.to_owned()));
            }
            _ => {}
        }
        attributes.extend(request.error_type().map(|kind| KeyValue::new("error.type", kind)));
        attributes.extend(request.code.map(|code| KeyValue::new("rpc.response.status_code", code.to_string())));
        attributes.extend(request.revision.map(|revision| KeyValue::new("mcp.protocol.version", revision.as_str())));
        attributes.push(KeyValue::new("network.transport", request.network_transport()));
        attributes.extend(protocol(request.transport));
        attributes.extend(version(request.http_version));
        self.operations.record(request.duration.as_secs_f64(), &attributes);
    }

    fn notified(&self, notification: &Notified<'_>) {
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", notification.method.to_owned()),
            KeyValue::new("network.transport", notification.network_transport()),
        ];
        let revision = notification.revision.map(crate::Revision::as_str);
        attributes.extend(revision.map(|revision| KeyValue::new("mcp.protocol.version", revision)));
        attributes.extend(protocol(notification.transport));
        attributes.extend(version(notification.http_version));
        self.operations.record(notification.duration.as_secs_f64(), &attributes);
    }

    fn asked(&self, request: &Asked<'_>) {
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", request.method.to_owned()),
            KeyValue::new("mcp.protocol.version", request.revision.as_str()),
            KeyValue::new("network.transport", request.transport.network()),
        ];
        attributes.extend(protocol(request.transport));
        attributes.extend(request.error_type().map(|kind| KeyValue::new("error.type", kind)));
        attributes.extend(request.status_code().map(|code| KeyValue::new("rpc.response.status_code", code)));
        self.questions.record(request.duration.as_secs_f64(), &attributes);
    }

    fn session_ended(&self, session: &SessionEnded) {
        let mut attributes = vec![KeyValue::new("mcp.protocol.version", session.revision.as_str())];
        attributes.extend(protocol(session.transport));
        self.sessions.record(session.duration.as_secs_f64(), &attributes);
    }
}
