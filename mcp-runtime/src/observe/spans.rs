//! [`Spans`]: the settings of the spans of calls.

/// A `tracing` span per request, with the names of [OpenTelemetry's conventions for
/// MCP](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md). Set by
/// [`Server::spans`](crate::Server::spans).
///
/// The spans have the level INFO and the target `mcp_runtime::call`, and are made only if a subscriber enables them. A
/// handler runs inside its span, so that its own spans and events are below it. Questions to the client are spans, too,
/// of target `mcp_runtime::ask`, and so is the work of a task (`mcp.task`), which follows from that of its call.
///
/// With the feature `otel`, a span continues the client's trace: its parent is the `traceparent` in the `_meta` of the
/// request, with `tracestate` and `baggage`, if they are well-formed; the span around it, that of an HTTP layer for
/// example, becomes a link. Questions to the client carry the `traceparent` of their spans.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    pub(crate) payloads: bool,
}

impl Spans {
    /// Spans without arguments and results.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the arguments and results of tools are recorded, up to 8 KiB each: `gen_ai.tool.call.arguments`
    /// and `gen_ai.tool.call.result`. With the feature `otel`, also the arguments of prompts:
    /// `gen_ai.prompt.variable.NAME`. Default: no.
    ///
    /// **Sensitive**: they have what users and models say, personal data and secrets included, and go wherever the
    /// spans go.
    pub fn payloads(mut self, recorded: bool) -> Self {
        self.payloads = recorded;
        self
    }
}
