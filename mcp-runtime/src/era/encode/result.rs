//! The `result` member of a response, for every kind of reply.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::object_writer::{ObjectWriter, write_handler_json, write_json};
use super::{ResponseTo, SERVER_INFO, SERVER_INFO_MEMBER, SUBSCRIPTION, WireFormat, task};
use crate::era::server_info::ServerInfo;
use crate::jsonrpc::Id;
use crate::outcome::{Question, Reply};
use crate::protocol::{
    Blocks, CacheHint, Content, ContentKind, Meta, PromptMessage, PromptResult, ReadResult, ResourceContents, Revision,
    ToolDescriptor, ToolResult,
};
use crate::store::TaskRecord;

/// The most values a completion may have.
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion>
const MAX_COMPLETIONS: usize = 100;

/// Appends the result.
pub(super) fn write(server: &ServerInfo, to: ResponseTo<'_>, reply: &Reply, out: &mut Vec<u8>) {
    let writer = ResultWriter { server, wire: to.revision.wire() };
    match reply {
        Reply::Tool(result) => writer.tool(result, out),
        Reply::Prompt(result) => writer.prompt(result, out),
        Reply::Read(result) => writer.read(result, out),
        Reply::Completion(values) => writer.completion(values, out),
        Reply::List(page) => out.extend_from_slice(page.as_bytes()),
        Reply::Custom(members) => writer.custom(members, out),
        Reply::InputRequired { asked, state } => writer.input_required(asked, state, out),
        Reply::TaskCreated(task) => writer.task_created(task, out),
        Reply::Task(task) => writer.custom(&task::state(task), out),
        Reply::Tasks(tasks) => ObjectWriter::write(out, |result| {
            result.array("tasks", tasks, |out, task| write_json(out, &task::summary(task)));
        }),
        Reply::Rendered(result) => write_json(out, result),
        Reply::Initialized(capabilities) => writer.initialized(capabilities, to.revision, out),
        Reply::Discovered(capabilities, cache) => writer.discovered(capabilities, *cache, out),
        Reply::Listened => writer.listened(to.id, out),
        Reply::Acknowledged => writer.complete(&Meta::new(), out, |_| {}),
        Reply::Empty => out.extend_from_slice(b"{}"),
    }
}

/// Appends the item with a name.
pub(crate) type ItemWriter<'a> = &'a dyn Fn(&str, &mut Vec<u8>);

/// A page of a list: the names of its items, and how to append one.
pub(crate) struct Page<'a> {
    pub(crate) member: &'static str,
    pub(crate) names: &'a [&'a str],
    pub(crate) write: ItemWriter<'a>,
    pub(crate) next: Option<&'a str>,
}

/// An item of a list.
pub(crate) fn item(descriptor: Option<&impl Serialize>, out: &mut Vec<u8>) {
    write_json(out, &descriptor);
}

/// A page of a list, as a whole result.
pub(crate) fn list(server: &ServerInfo, revision: Revision, page: &Page<'_>, cache: CacheHint) -> Arc<str> {
    let mut out = Vec::new();
    let writer = ResultWriter { server, wire: revision.wire() };
    writer.complete(&Meta::new(), &mut out, |result| {
        result.array(page.member, page.names, |out, name| (page.write)(name, out));
        result.optional("nextCursor", page.next);
        writer.cache_hint(cache, result);
    });
    String::from_utf8(out).unwrap_or_default().into()
}

/// A tool's descriptor without what the revision does not have.
pub(crate) fn tool_descriptor(mut descriptor: ToolDescriptor, revision: Revision) -> ToolDescriptor {
    let wire = revision.wire();
    let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
    descriptor.output_schema.take_if(|schema| !wire.structured_output.allows(is_object(schema)));
    descriptor.execution.take_if(|_| !wire.tool_execution);
    descriptor
}

/// Results of one server, in the format of one revision.
#[derive(Clone, Copy)]
struct ResultWriter<'a> {
    server: &'a ServerInfo,
    wire: &'a WireFormat,
}

impl ResultWriter<'_> {
    /// A result that is final: its own members between those every such result of the revision has.
    fn complete(self, meta: &Meta, out: &mut Vec<u8>, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        ObjectWriter::write(out, |result| {
            if self.wire.result_type {
                result.literal(r#""resultType":"complete""#);
            }
            members(result);
            if self.wire.server_info_in_meta || !meta.is_empty() {
                self.meta(meta, result);
            }
        });
    }

    /// The `_meta` of a result: its own entries, and what the revision adds.
    fn meta(self, meta: &Meta, result: &mut ObjectWriter<'_>) {
        if self.wire.server_info_in_meta && !meta.contains_key(SERVER_INFO) {
            ObjectWriter::write(result.literal(r#""_meta":"#), |entries| {
                entries.extend(meta);
                self.server_info(entries);
            });
        } else {
            result.member("_meta", meta);
        }
    }

    fn server_info(self, meta: &mut ObjectWriter<'_>) {
        meta.literal(SERVER_INFO_MEMBER).extend_from_slice(self.server.implementation.as_bytes());
    }

    fn cache_hint(self, cache: CacheHint, result: &mut ObjectWriter<'_>) {
        if self.wire.cache_hints {
            result.member("ttlMs", &cache.ttl_millis());
            result.member("cacheScope", cache.scope());
        }
    }

    fn tool(self, result: &ToolResult, out: &mut Vec<u8>) {
        self.complete(&result.meta, out, |object| {
            match &result.content {
                Blocks::Text(text) => text_content(text, object),
                Blocks::Mirror => text_content(result.structured.as_deref().unwrap_or_default(), object),
                Blocks::List(blocks) => object.array("content", blocks, |out, block| self.content(block, out)),
            }
            let allowed = |json: &&str| self.wire.structured_output.allows(json.starts_with('{'));
            if let Some(structured) = result.structured.as_deref().filter(allowed) {
                write_handler_json(object.key("structuredContent"), structured);
            }
            if result.is_error {
                object.raw("isError", "true");
            }
        });
    }

    fn prompt(self, result: &PromptResult, out: &mut Vec<u8>) {
        self.complete(&result.meta, out, |object| {
            object.optional("description", result.description.as_ref());
            object.array("messages", &result.messages, |out, PromptMessage { role, content }| {
                ObjectWriter::write(out, |message| {
                    message.member("role", role);
                    self.content(content, message.key("content"));
                });
            });
        });
    }

    /// One block of content, replaced where the revision does not have its type.
    fn content(self, block: &Content, out: &mut Vec<u8>) {
        match &block.kind {
            ContentKind::Audio(data, mime) if !self.wire.audio => {
                let audio = ResourceContents::base64(data.clone()).with_uri("urn:mcp:audio").with_mime(mime.clone());
                write_json(out, &Content { kind: ContentKind::Resource(Box::new(audio)), ..block.clone() });
            }
            ContentKind::Link(link) if !self.wire.resource_links => {
                let text = format!("{}: {}", link.title.as_ref().unwrap_or(&link.name), link.uri);
                let (annotations, meta) = (link.annotations.clone(), link.meta.clone());
                write_json(out, &Content { kind: ContentKind::Text(text), annotations, meta });
            }
            _ => write_json(out, block),
        }
    }

    fn read(self, result: &ReadResult, out: &mut Vec<u8>) {
        self.complete(&result.meta, out, |object| {
            object.member("contents", &result.contents);
            let cache = result.cache.unwrap_or(self.server.caches.reads());
            self.cache_hint(if result.guarded { cache.unshared() } else { cache }, object);
        });
    }

    fn completion(self, values: &[String], out: &mut Vec<u8>) {
        let shown = &values[..values.len().min(MAX_COMPLETIONS)];
        self.complete(&Meta::new(), out, |result| {
            result.object("completion", |completion| {
                completion.member("values", shown);
                completion.member("total", &values.len());
                completion.member("hasMore", &(shown.len() < values.len()));
            });
        });
    }

    /// The members of a result that a handler, or the store of tasks, made as a whole.
    fn custom(self, members: &Meta, out: &mut Vec<u8>) {
        let meta = members.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        self.complete(&meta, out, |result| {
            result.extend(members.iter().filter(|(name, _)| !matches!(&***name, "_meta" | "resultType")));
        });
    }

    /// The requests the client has to answer, and the state it has to return when it calls again.
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
    fn input_required(self, asked: &[(String, Question)], state: &str, out: &mut Vec<u8>) {
        ObjectWriter::write(out, |result| {
            result.raw("resultType", r#""input_required""#);
            result.object("inputRequests", |requests| {
                requests.extend(asked.iter().map(|(key, question)| (key, question)));
            });
            result.member("requestState", state);
            result.object("_meta", |meta| self.server_info(meta));
        });
    }

    fn task_created(self, task: &TaskRecord, out: &mut Vec<u8>) {
        ObjectWriter::write(out, |result| {
            result.extend(&task::created(task));
            if self.wire.server_info_in_meta {
                result.object("_meta", |meta| self.server_info(meta));
            }
        });
    }

    fn initialized(self, capabilities: &Value, revision: Revision, out: &mut Vec<u8>) {
        ObjectWriter::write(out, |result| {
            result.member("protocolVersion", &revision);
            result.member("capabilities", capabilities);
            result.raw("serverInfo", &self.server.implementation);
            result.optional("instructions", self.server.instructions.as_ref());
        });
    }

    fn discovered(self, capabilities: &Value, cache: CacheHint, out: &mut Vec<u8>) {
        self.complete(&Meta::new(), out, |result| {
            result.member("supportedVersions", &Revision::MODERN);
            result.member("capabilities", capabilities);
            result.optional("instructions", self.server.instructions.as_ref());
            self.cache_hint(cache, result);
        });
    }

    /// The last message of a subscription. Its id is copied as text: a number may not fit any integer type.
    fn listened(self, id: Id<'_>, out: &mut Vec<u8>) {
        ObjectWriter::write(out, |result| {
            result.raw("resultType", r#""complete""#);
            result.object("_meta", |meta| {
                meta.raw(SUBSCRIPTION, id.as_str());
                self.server_info(meta);
            });
        });
    }
}

/// Content of one text block: what most calls return, so it is written in three pieces.
#[inline]
fn text_content(text: &str, result: &mut ObjectWriter<'_>) {
    let out = result.literal(r#""content":[{"type":"text","text":"#);
    write_json(out, text);
    out.extend_from_slice(b"}]");
}
