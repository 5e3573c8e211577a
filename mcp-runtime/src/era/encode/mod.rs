//! Answers to bytes, in the revision of the request: what newer revisions add is added here, and
//! what older ones do not know is left out or replaced here.

pub(crate) mod notification;
pub(crate) mod sampling;
pub(crate) mod task;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::Method;
use crate::era::server_info::ServerInfo;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::outcome::{ArgumentError, Failure, MissingCapability, Outcome, Question, Reply};
use crate::protocol::{
    Blocks, CacheHint, Content, ContentKind, Meta, PromptResult, ReadResult, ResourceContents, Revision,
    ToolDescriptor, ToolResult,
};

/// What `_meta` calls the server in modern results.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// What `_meta` calls the stream a message belongs to.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The most values a completion may have.
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
pub(crate) const MAX_COMPLETIONS: usize = 100;

/// Where an answer goes: the request's id, method and revision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseTo<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Method,
    pub(crate) revision: Revision,
}

/// Appends the response to `out`, one line.
pub(crate) fn answer(server: &ServerInfo, site: ResponseTo<'_>, answer: Outcome, out: &mut Vec<u8>) {
    match answer {
        Ok(reply) => result(server, site, &reply, out),
        Err(failure) => self::failure(server, site, failure, out),
    }
}

/// Appends an error response to `out`, one line.
pub(crate) fn error(id: Id<'_>, error: &RpcError, out: &mut Vec<u8>) {
    open(id, "error", out);
    write_json(out, error);
    out.extend_from_slice(b"}\n");
}

fn open(id: Id<'_>, member: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_str().as_bytes());
    out.extend_from_slice(b",\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
}

fn result(server: &ServerInfo, site: ResponseTo<'_>, reply: &Reply, out: &mut Vec<u8>) {
    open(site.id, "result", out);
    let revision = site.revision;
    match reply {
        Reply::List(page) => out.extend_from_slice(page.as_bytes()),
        Reply::Empty => out.extend_from_slice(b"{}"),
        Reply::Initialized(capabilities) => initialized(server, capabilities, revision, out),
        Reply::Discovered(capabilities) => discovered(server, capabilities, revision, out),
        Reply::Listened => listened(server, site.id, out),
        Reply::Custom(fields) => custom(server, fields, revision, out),
        Reply::Tool(result) => wrap(server, revision, &result.meta, out, |out| tool(result, revision, out)),
        Reply::Prompt(result) => wrap(server, revision, &result.meta, out, |out| prompt(result, revision, out)),
        Reply::InputRequired { asked, state } => input_required(server, asked, state, out),
        Reply::TaskCreated(task) => with_info(server, task::created(task), revision, out),
        Reply::Task(task) => custom(server, &task::state(task), revision, out),
        Reply::Tasks(tasks) => {
            write_json(out, &json!({"tasks": tasks.iter().map(task::summary).collect::<Vec<_>>()}));
        }
        Reply::Rendered(result) => write_json(out, result),
        Reply::Acknowledged => custom(server, &Meta::new(), revision, out),
        Reply::Completion(values) => wrap(server, revision, &Meta::new(), out, |out| completion(values, out)),
        Reply::Read(result) => wrap(server, revision, &result.meta, out, |out| read(server, result, revision, out)),
    }
    out.extend_from_slice(b"}\n");
}

/// What the client is to answer, and what it is to bring along when it calls again.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
fn input_required(server: &ServerInfo, asked: &[(String, Question)], state: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"resultType":"input_required","inputRequests":{"#);
    for (index, (key, question)) in asked.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(out, key);
        out.extend_from_slice(br#":{"method":"#);
        write_json(out, question.method);
        out.extend_from_slice(br#","params":"#);
        write_json(out, &question.params);
        out.push(b'}');
    }
    out.extend_from_slice(br#"},"requestState":"#);
    write_json(out, state);
    out.extend_from_slice(format!(r#","_meta":{{"{SERVER_INFO}":{}}}}}"#, server.implementation).as_bytes());
}

/// A result that says itself what it is.
fn with_info(server: &ServerInfo, mut result: Value, revision: Revision, out: &mut Vec<u8>) {
    if revision.is_modern() {
        result["_meta"][SERVER_INFO] = serde_json::from_str(&server.implementation).unwrap_or_default();
    }
    write_json(out, &result);
}

/// An object of `fields` between what every result of the revision begins and ends with.
fn wrap(server: &ServerInfo, revision: Revision, meta: &Meta, out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'{');
    if revision.is_modern() {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
    fields(out);
    // Where there are no fields.
    out.pop_if(|last| *last == b',');
    let members = out.last() != Some(&b'{');
    if revision.is_modern() && !meta.contains_key(SERVER_INFO) {
        out.extend_from_slice(br#","_meta":{"#);
        for (key, value) in meta {
            write_json(out, key);
            out.push(b':');
            write_json(out, value);
            out.push(b',');
        }
        write_json(out, SERVER_INFO);
        out.push(b':');
        out.extend_from_slice(server.implementation.as_bytes());
        out.push(b'}');
    } else if !meta.is_empty() {
        out.extend_from_slice(if members { br#","_meta":"# } else { br#""_meta":"# });
        write_json(out, meta);
    }
    out.push(b'}');
}

fn initialized(server: &ServerInfo, capabilities: &Value, revision: Revision, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"protocolVersion":"#);
    write_json(out, &revision);
    out.extend_from_slice(br#","capabilities":"#);
    write_json(out, capabilities);
    out.extend_from_slice(br#","serverInfo":"#);
    out.extend_from_slice(server.implementation.as_bytes());
    instructions(server, out);
    out.push(b'}');
}

fn discovered(server: &ServerInfo, capabilities: &Value, revision: Revision, out: &mut Vec<u8>) {
    wrap(server, revision, &Meta::new(), out, |out| {
        out.extend_from_slice(br#""supportedVersions":"#);
        write_json(out, &Revision::MODERN);
        out.extend_from_slice(br#","capabilities":"#);
        write_json(out, capabilities);
        instructions(server, out);
        out.extend_from_slice(server.caches.server.members().as_bytes());
    });
}

/// The last word of a stream. Its id is written as it came: a number may be longer than numbers are here.
fn listened(server: &ServerInfo, id: Id<'_>, out: &mut Vec<u8>) {
    let (id, info) = (id.as_str(), &server.implementation);
    let result = format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{id},"{SERVER_INFO}":{info}}}}}"#);
    out.extend_from_slice(result.as_bytes());
}

fn custom(server: &ServerInfo, fields: &Meta, revision: Revision, out: &mut Vec<u8>) {
    let meta = fields.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    wrap(server, revision, &meta, out, |out| {
        for (key, value) in fields.iter().filter(|(key, _)| !matches!(&***key, "_meta" | "resultType")) {
            write_json(out, key);
            out.push(b':');
            write_json(out, value);
            out.push(b',');
        }
    });
}

fn instructions(server: &ServerInfo, out: &mut Vec<u8>) {
    if let Some(text) = &server.instructions {
        out.extend_from_slice(br#","instructions":"#);
        write_json(out, text);
    }
}

/// A page of a list, as a whole result.
pub(crate) fn list(
    server: &ServerInfo,
    revision: Revision,
    member: &str,
    items: &impl Serialize,
    next: Option<&str>,
    cache: CacheHint,
) -> Arc<str> {
    let mut out = Vec::new();
    wrap(server, revision, &Meta::new(), &mut out, |out| {
        write_json(out, member);
        out.push(b':');
        write_json(out, items);
        if let Some(cursor) = next {
            out.extend_from_slice(br#","nextCursor":"#);
            write_json(out, cursor);
        }
        if revision.is_modern() {
            out.extend_from_slice(cache.members().as_bytes());
        }
    });
    String::from_utf8(out).unwrap_or_default().into()
}

/// What a revision can be told of a tool.
pub(crate) fn tool_descriptor(tool: &ToolDescriptor, revision: Revision) -> ToolDescriptor {
    let mut descriptor = tool.clone();
    descriptor.output_schema.take_if(|schema| !keeps_output_schema(schema, revision));
    // Only there do clients say which calls become tasks.
    descriptor.execution.take_if(|_| revision != Revision::V2025_11_25);
    descriptor
}

/// Whether an `outputSchema` can be told: none before 2025-06-18, and only of objects until 2026-07-28.
fn keeps_output_schema(schema: &Value, revision: Revision) -> bool {
    revision.is_modern()
        || (revision >= Revision::V2025_06_18 && schema.get("type").is_some_and(|kind| kind == "object"))
}

fn tool(result: &ToolResult, revision: Revision, out: &mut Vec<u8>) {
    out.extend_from_slice(br#""content":["#);
    match &result.content {
        Blocks::Text(text) => text_block(text, out),
        Blocks::Mirror => text_block(result.structured.as_deref().unwrap_or_default(), out),
        Blocks::List(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                content(block, revision, out);
            }
        }
    }
    out.push(b']');
    if let Some(structured) = result.structured.as_deref().filter(|json| keeps_structured(json, revision)) {
        out.extend_from_slice(br#","structuredContent":"#);
        write_raw_json(structured, out);
    }
    if result.is_error {
        out.extend_from_slice(br#","isError":true"#);
    }
}

fn keeps_structured(json: &str, revision: Revision) -> bool {
    revision.is_modern() || (revision >= Revision::V2025_06_18 && json.starts_with('{'))
}

fn text_block(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    write_json(out, text);
    out.push(b'}');
}

/// One block, replaced where the revision has no such block.
fn content(block: &Content, revision: Revision, out: &mut Vec<u8>) {
    match &block.kind {
        ContentKind::Audio(data, mime) if revision < Revision::V2025_03_26 => {
            let audio = ResourceContents::base64(data.clone()).with_uri("urn:mcp:audio").with_mime(mime.clone());
            write_json(out, &Content { kind: ContentKind::Resource(Box::new(audio)), ..block.clone() });
        }
        ContentKind::Link(link) if revision < Revision::V2025_06_18 => {
            let text = format!("{}: {}", link.title.as_ref().unwrap_or(&link.name), link.uri);
            let (annotations, meta) = (link.annotations.clone(), link.meta.clone());
            write_json(out, &Content { kind: ContentKind::Text(text), annotations, meta });
        }
        _ => write_json(out, block),
    }
}

fn prompt(result: &PromptResult, revision: Revision, out: &mut Vec<u8>) {
    if let Some(description) = &result.description {
        out.extend_from_slice(br#""description":"#);
        write_json(out, description);
        out.push(b',');
    }
    out.extend_from_slice(br#""messages":["#);
    for (index, message) in result.messages.iter().enumerate() {
        out.extend_from_slice(if index > 0 { br#",{"role":"# } else { br#"{"role":"# });
        write_json(out, &message.role);
        out.extend_from_slice(br#","content":"#);
        content(&message.content, revision, out);
        out.push(b'}');
    }
    out.push(b']');
}

fn read(server: &ServerInfo, result: &ReadResult, revision: Revision, out: &mut Vec<u8>) {
    out.extend_from_slice(br#""contents":"#);
    write_json(out, &result.contents);
    if revision.is_modern() {
        let cache = result.cache.unwrap_or(server.caches.reads());
        let cache = if result.guarded { cache.unshared() } else { cache };
        out.extend_from_slice(cache.members().as_bytes());
    }
}

fn completion(values: &[String], out: &mut Vec<u8>) {
    let shown = &values[..values.len().min(MAX_COMPLETIONS)];
    out.extend_from_slice(br#""completion":"#);
    write_json(out, &json!({"values": shown, "total": values.len(), "hasMore": shown.len() < values.len()}));
}

/// A call without an ordinary result. What the model can act on is a result of the tool; the rest
/// is an error of the request.
fn failure(server: &ServerInfo, site: ResponseTo<'_>, failure: Failure, out: &mut Vec<u8>) {
    let internal = |text: String| RpcError::new(RpcError::INTERNAL, text);
    let error = match failure {
        Failure::Protocol(error) => error,
        Failure::ResourceNotFound(uri) => resource_not_found(&uri, site.revision),
        Failure::Arguments(error) if site.method == Method::ToolsCall && site.revision >= Revision::V2025_11_25 => {
            return tool_failure(server, site, bad_arguments(&error), out);
        }
        Failure::Arguments(error) => {
            RpcError::invalid_params(format!("Invalid params: {error}")).with_data(json!(error))
        }
        Failure::Handler(text) if site.method == Method::ToolsCall => {
            return tool_failure(server, site, ToolResult::error(text), out);
        }
        Failure::Handler(text) => internal(text),
        Failure::MissingCapability(missing) if site.revision.is_modern() => missing_capability(&missing),
        // Before that there is no code for it: the model is told, or the client in words.
        Failure::MissingCapability(missing) if site.method == Method::ToolsCall => {
            return tool_failure(server, site, ToolResult::error(missing.text), out);
        }
        Failure::MissingCapability(missing) => internal(missing.text),
        Failure::Panicked | Failure::TimedOut(_) => {
            let text = match failure {
                Failure::TimedOut(limit) => format!("timed out after {limit:?}"),
                _ => "failed unexpectedly; the server's log has the details".to_owned(),
            };
            if site.method == Method::ToolsCall {
                return tool_failure(server, site, ToolResult::error(format!("The tool {text}.")), out);
            }
            internal(format!("{} {text}", site.method.name()))
        }
    };
    self::error(site.id, &error, out);
}

/// <https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes>
fn missing_capability(missing: &MissingCapability) -> RpcError {
    RpcError::new(RpcError::MISSING_CAPABILITY, format!("Missing client capability: {}", missing.text))
        .with_data(json!({"requiredCapabilities": missing.required}))
}

fn tool_failure(server: &ServerInfo, site: ResponseTo<'_>, failed: ToolResult, out: &mut Vec<u8>) {
    result(server, site, &Reply::Tool(failed), out);
}

/// <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling>: the model
/// can mend its arguments, so it is the model that is told.
fn bad_arguments(error: &ArgumentError) -> ToolResult {
    ToolResult::error(format!("Invalid arguments: {error}")).with_meta("argumentError", json!(error))
}

fn resource_not_found(uri: &str, revision: Revision) -> RpcError {
    let code = if revision.is_modern() { RpcError::INVALID_PARAMS } else { RpcError::RESOURCE_NOT_FOUND };
    RpcError::new(code, format!("Resource not found: {}", shorten(uri))).with_data(json!({"uri": shorten(uri)}))
}

/// JSON text from a handler's own serializer. A newline in it (a `RawValue` the handler passed on)
/// would end the message early.
pub(super) fn write_raw_json(text: &str, out: &mut Vec<u8>) {
    if text.contains('\n') {
        write_json(out, &serde_json::from_str::<serde_json::Value>(text).unwrap_or_default());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends `value` as JSON. Writing to memory cannot fail; a value that refuses to be serialized
/// is a bug of ours, told in the log and sent as null.
pub(super) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        tracing::error!(%error, "a value could not be written as JSON");
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
