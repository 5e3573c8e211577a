//! The spans of calls and questions, by OpenTelemetry's conventions for MCP. The fields that begin with `otel.` are those
//! that `tracing-opentelemetry` takes for the name, kind and status of a span.
//! <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md>

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use tracing::Span;
use tracing::field::{Empty, display};

use super::watch::AcceptedRequest;
use crate::era::Method;
use crate::jsonrpc::error::beginning;
use crate::jsonrpc::raw::Raw;
use crate::observe::{Asked, Finished, Spans, Transport};
use crate::protocol::Revision;

/// Of arguments and results, a span has so many bytes.
const PAYLOAD: usize = 8 * 1024;
/// Of the id of a request.
const ID_BYTES: usize = 128;

/// The span of a call, if a subscriber wants it.
pub(super) fn of_call(call: &Finished<'_>, spans: &Spans, request: &AcceptedRequest<'_>) -> Option<Span> {
    let span = make(call, request.call.method)?;
    if request.id != "null" {
        span.record("jsonrpc.request.id", &*request_id(request.id));
    }
    if spans.payloads
        && request.call.method == Method::ToolsCall
        && let Some(arguments) = request.call.params.get("arguments")
    {
        span.record("gen_ai.tool.call.arguments", bounded(arguments.get()));
    }
    #[cfg(feature = "otel")]
    {
        super::otel::adopt(&span, request.call.envelope.meta);
        if spans.payloads && request.call.method == Method::PromptsGet {
            super::otel::record_variables(&span, request.call.params.get("arguments"), PAYLOAD);
        }
    }
    Some(span)
}

/// The id of a request as a span has it: a string without its quotes, or a number; not all of a long one.
fn request_id(json: &str) -> Cow<'_, str> {
    let text = Raw::new_unchecked(json).text().unwrap_or(Cow::Borrowed(json));
    let end = beginning(&text, ID_BYTES).len();
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(text) => Cow::Owned(text[..end].to_owned()),
    }
}

/// The span of a request that was refused before it became a call.
pub(super) fn of_refused(request: &Finished<'_>) -> Option<Span> {
    make(request, Method::Ping)
}

fn make(call: &Finished<'_>, method: Method) -> Option<Span> {
    let (tool, prompt) = match method {
        Method::ToolsCall => (call.target, None),
        Method::PromptsGet => (None, call.target),
        // The target may also be the template of a resource.
        Method::Complete => (None, call.target.filter(|target| !target.contains(':'))),
        _ => (None, None),
    };
    let span = tracing::info_span!(
        target: "mcp_runtime::call",
        "mcp.server",
        "otel.name" = display(SpanName(call.method, tool.or(prompt))),
        "otel.kind" = "server",
        "otel.status_code" = Empty,
        "otel.status_description" = Empty,
        "mcp.method.name" = call.method,
        "mcp.protocol.version" = call.revision.map(Revision::as_str),
        "mcp.resource.uri" = call.uri,
        "mcp.session.id" = call.session.map(display),
        "gen_ai.tool.name" = tool,
        "gen_ai.prompt.name" = prompt,
        "gen_ai.operation.name" = tool.map(|_| "execute_tool"),
        "gen_ai.tool.call.arguments" = Empty,
        "gen_ai.tool.call.result" = Empty,
        "jsonrpc.request.id" = Empty,
        "rpc.response.status_code" = Empty,
        "error.type" = Empty,
        "network.transport" = call.network_transport(),
        "network.protocol.name" = call.transport.protocol(),
        "network.protocol.version" = call.http_version,
        "client.address" = call.peer.map(display),
        "http.request.header.x-request-id" = call.http_request_id,
    );
    (!span.is_disabled()).then_some(span)
}

/// `tools/call add`, or the method alone. Written only if a subscriber wants the span.
struct SpanName<'a>(&'a str, Option<&'a str>);

impl fmt::Display for SpanName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        self.1.map_or(Ok(()), |name| write!(f, " {name}"))
    }
}

/// The call of a tool has this answer.
pub(super) fn record_result(span: &Span, answer: &[u8]) {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        result: Raw<'a>,
    }
    let line = std::str::from_utf8(answer).ok().and_then(|line| serde_json::from_str::<Line<'_>>(line).ok());
    if let Some(Line { result }) = line {
        span.record("gen_ai.tool.call.result", bounded(result.get()));
    }
}

fn bounded(text: &str) -> &str {
    beginning(text, PAYLOAD)
}

/// The call is over.
pub(super) fn close(span: &Span, call: &Finished<'_>, message: Option<&str>) {
    if let Some(code) = call.code {
        span.record("rpc.response.status_code", display(code));
    }
    if let Some(kind) = call.error_type() {
        span.record("error.type", &*kind);
    }
    if call.is_span_error() {
        span.record("otel.status_code", "ERROR");
        if let Some(message) = message {
            span.record("otel.status_description", message);
        }
    }
}

/// The span of a question to the client, below that of the call that asks.
pub(super) fn of_question(method: &str, revision: Revision, transport: Transport) -> Option<Span> {
    let span = tracing::info_span!(
        target: "mcp_runtime::ask",
        "mcp.client",
        "otel.name" = method,
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "mcp.method.name" = method,
        "mcp.protocol.version" = revision.as_str(),
        "rpc.response.status_code" = Empty,
        "error.type" = Empty,
        "network.transport" = transport.network(),
        "network.protocol.name" = transport.protocol(),
    );
    (!span.is_disabled()).then_some(span)
}

/// The span of a task, which goes on after the call that created it, and is not below it.
pub(super) fn of_task() -> Option<Span> {
    let span = tracing::info_span!(target: "mcp_runtime::call", parent: None, "mcp.task", "otel.kind" = "internal");
    if span.is_disabled() {
        return None;
    }
    span.follows_from(Span::current());
    Some(span)
}

/// The question is over.
pub(super) fn close_question(span: &Span, asked: &Asked<'_>) {
    if let Some(code) = asked.code {
        span.record("rpc.response.status_code", display(code));
    }
    if let Some(kind) = asked.error_type() {
        span.record("error.type", &*kind);
        span.record("otel.status_code", "ERROR");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_request_is_decoded_and_short() {
        assert_eq!(request_id("7"), "7");
        assert_eq!(request_id(r#""call-1""#), "call-1");
        assert_eq!(request_id(r#""\"quoted\" \u00fc""#), "\"quoted\" ü");
        assert_eq!(request_id(&format!("\"{}\"", "ü".repeat(100_000))), "ü".repeat(64));
        assert_eq!(request_id(&format!("\"x{}\\n\"", "ü".repeat(100_000))), format!("x{}", "ü".repeat(63)));
        assert_eq!(request_id(&"9".repeat(100_000)).len(), ID_BYTES);
    }
}
