//! The client's trace, continued: the trace context in `_meta` is the parent of a call's span, and the span around it
//! becomes a link. What is malformed or too long is ignored, and none of it identifies anybody.

use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::trace_context;
use crate::jsonrpc::error::beginning;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// The longest `tracestate` and `baggage`, and how many entries a baggage has.
const STATE_BYTES: usize = 512;
const BAGGAGE_BYTES: usize = 8192;
const BAGGAGE_ENTRIES: usize = 64;
/// How many arguments of a prompt are recorded, and the longest name of one.
const VARIABLES: usize = 16;
const VARIABLE_BYTES: usize = 64;

/// Gives the span of a call the parent that its request names, if it names one.
pub(super) fn adopt(span: &Span, meta: Option<Raw<'_>>) {
    let Some(entries) = meta.and_then(|meta| Object::read(meta).ok()) else { return };
    let Some(parent) = parent(&entries) else { return };
    let around = Span::current();
    let link = (!around.is_none()).then(|| around.context().span().span_context().clone());
    if span.set_parent(parent).is_err() {
        return;
    }
    if let Some(link) = link.filter(SpanContext::is_valid) {
        span.add_link(link);
    }
}

/// The `traceparent` of what is below a span.
pub(super) fn traceparent(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span().span_context().clone();
    let flags = span.trace_flags() & TraceFlags::SAMPLED;
    span.is_valid().then(|| format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), flags.to_u8()))
}

/// Records the arguments of a prompt, each as an attribute of its own, of which so many bytes are kept.
pub(super) fn record_variables(span: &Span, arguments: Option<Raw<'_>>, bytes: usize) {
    let Some(arguments) = arguments.and_then(|arguments| Object::read(arguments).ok()) else { return };
    for (name, value) in arguments.iter().filter(|(name, _)| name.len() <= VARIABLE_BYTES).take(VARIABLES) {
        let value = value.text().unwrap_or(value.get().into());
        span.set_attribute(format!("gen_ai.prompt.variable.{name}"), beginning(&value, bytes).to_owned());
    }
}

/// The context that the `_meta` of a request carries.
fn parent(entries: &Object<'_>) -> Option<Context> {
    // A text that is too long even if all of it is escaped is not decoded.
    let text = |key: &str| entries.get(key).filter(|raw| raw.get().len() <= 6 * BAGGAGE_BYTES).and_then(Raw::text);
    let traceparent = text("traceparent").filter(|text| trace_context::is_parent(text))?;
    let mut parts = traceparent.split('-').skip(1);
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    // Of the flags, one means the same in every version.
    let flags = TraceFlags::new(u8::from_str_radix(parts.next()?, 16).ok()? & TraceFlags::SAMPLED.to_u8());
    let state = text("tracestate").filter(|text| trace_context::is_list(text, STATE_BYTES));
    let state = state.and_then(|text| text.parse::<TraceState>().ok()).unwrap_or_default();
    let context = Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, true, state));
    let baggage = text("baggage").filter(|text| trace_context::is_list(text, BAGGAGE_BYTES));
    Some(match baggage {
        Some(text) => context.with_baggage(text.split(',').filter_map(entry).take(BAGGAGE_ENTRIES).collect::<Vec<_>>()),
        None => context,
    })
}

/// One entry of a baggage, without its properties.
fn entry(member: &str) -> Option<KeyValue> {
    let (key, value) = member.split(';').next()?.split_once('=')?;
    Some(KeyValue::new(key.trim().to_owned(), decoded(value.trim())?))
}

/// A percent-encoded text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(digit(*high)? << 4 | digit(*low)?);
                rest = tail;
            }
            (b'%', _) => return None,
            (byte, tail) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(meta: &str) -> Option<Context> {
        parent(&Object::read(Raw::new_unchecked(meta)).unwrap())
    }

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn trace_context_is_read() {
        let meta =
            format!(r#"{{"traceparent":"{PARENT}","tracestate":"rojo=1","baggage":"user=Ann%20B;p=1, bad=%zz"}}"#);
        let context = context(&meta).unwrap();
        let (span, baggage) = (context.span().span_context().clone(), context.baggage());
        assert_eq!(span.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.span_id().to_string(), "b7ad6b7169203331");
        assert!(span.is_remote() && span.is_sampled());
        assert_eq!(span.trace_state().get("rojo"), Some("1"));
        assert_eq!(baggage.get("user").map(ToString::to_string).as_deref(), Some("Ann B"));
        assert!(baggage.get("bad").is_none());
    }

    #[test]
    fn hostile_trace_context_is_ignored() {
        assert!(context("{}").is_none());
        assert!(context(r#"{"traceparent":"00-00000000000000000000000000000000-b7ad6b7169203331-01"}"#).is_none());
        assert!(context(r#"{"traceparent":7}"#).is_none());
        let long =
            format!(r#"{{"traceparent":"{PARENT}","tracestate":"a={0}","baggage":"a={0}"}}"#, "x".repeat(10_000));
        let long = context(&long).unwrap();
        assert_eq!(long.span().span_context().trace_state().header(), "");
        assert_eq!(long.baggage().len(), 0);
        let many: Vec<String> = (0..1000).map(|number| format!("k{number}=1")).collect();
        let many = context(&format!(r#"{{"traceparent":"{PARENT}","baggage":"{}"}}"#, many.join(","))).unwrap();
        assert_eq!(many.baggage().len(), BAGGAGE_ENTRIES);
    }
}
