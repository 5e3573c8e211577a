//! Outcomes to bytes, in the revision of the request. Handlers speak the newest revision; this folder writes their
//! results the way an older client can read them.
//!
//! A new revision begins here, with one more constant in the table below.

mod failure;
pub(crate) mod notification;
mod object_writer;
mod result;
pub(crate) mod sampling;
pub(crate) mod task;

use serde_json::{Value, json};

use super::Method;
use crate::era::server_info::ServerInfo;
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::from_bytes;
use crate::outcome::{Failure, Outcome, Reply};
use crate::protocol::{Blocks, Revision, ToolResult};
use object_writer::write_json;

pub(crate) use result::{ItemWriter, Page, item, list, tool_descriptor};

/// What a revision writes differently from others. The constants below are the table: each revision names what it
/// changes over the one before.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a table: a revision has a member, or does not")]
struct WireFormat {
    /// `audio` content. Without it, audio is sent as an embedded resource.
    audio: bool,
    /// `message` of progress notifications. Without it, the text is left out.
    progress_message: bool,
    /// `resource_link` content. Without it, a link is sent as text.
    resource_links: bool,
    /// `structuredContent` of results and `outputSchema` of tools. The text content says the same.
    structured_output: StructuredOutput,
    /// Where a tool's caller learns of invalid arguments.
    argument_errors: ArgumentErrors,
    /// `execution` of tools: whether a client may ask for a task.
    tool_execution: bool,
    /// How tasks are declared and described.
    tasks: TaskFormat,
    /// `resultType` of results.
    result_type: bool,
    /// The server's name and version in the `_meta` of results.
    server_info_in_meta: bool,
    /// `ttlMs` and `cacheScope` of lists and contents.
    cache_hints: bool,
    /// How a call fails that needs a capability the client does not have.
    missing_capability: MissingCapabilityFormat,
    /// The error code for an unknown resource.
    resource_not_found: i32,
}

const V2024_11_05: WireFormat = WireFormat {
    audio: false,
    progress_message: false,
    resource_links: false,
    structured_output: StructuredOutput::None,
    argument_errors: ArgumentErrors::RpcError,
    tool_execution: false,
    tasks: TaskFormat::None,
    result_type: false,
    server_info_in_meta: false,
    cache_hints: false,
    missing_capability: MissingCapabilityFormat::Text,
    resource_not_found: RpcError::RESOURCE_NOT_FOUND,
};

const V2025_03_26: WireFormat = WireFormat { audio: true, progress_message: true, ..V2024_11_05 };

const V2025_06_18: WireFormat =
    WireFormat { resource_links: true, structured_output: StructuredOutput::Objects, ..V2025_03_26 };

const V2025_11_25: WireFormat = WireFormat {
    argument_errors: ArgumentErrors::ToolResult,
    tool_execution: true,
    tasks: TaskFormat::Capability,
    ..V2025_06_18
};

const V2026_07_28: WireFormat = WireFormat {
    structured_output: StructuredOutput::Any,
    tool_execution: false,
    tasks: TaskFormat::Extension,
    result_type: true,
    server_info_in_meta: true,
    cache_hints: true,
    missing_capability: MissingCapabilityFormat::Code,
    resource_not_found: RpcError::INVALID_PARAMS,
    ..V2025_11_25
};

impl Revision {
    fn wire(self) -> &'static WireFormat {
        match self {
            Self::V2024_11_05 => &V2024_11_05,
            Self::V2025_03_26 => &V2025_03_26,
            Self::V2025_06_18 => &V2025_06_18,
            Self::V2025_11_25 => &V2025_11_25,
            Self::V2026_07_28 => &V2026_07_28,
        }
    }
}

/// Which values can be structured output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StructuredOutput {
    None,
    Objects,
    Any,
}

impl StructuredOutput {
    fn allows(self, is_object: bool) -> bool {
        match self {
            Self::None => false,
            Self::Objects => is_object,
            Self::Any => true,
        }
    }
}

/// <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentErrors {
    /// The client gets a JSON-RPC error.
    RpcError,
    /// The model gets a tool result, and can correct its arguments.
    ToolResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskFormat {
    None,
    /// The capability `tasks`: a created task is nested in the result, and its outcome is fetched by
    /// `tasks/result`.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
    Capability,
    /// An extension: a created task is the result, and `tasks/get` includes its outcome.
    Extension,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingCapabilityFormat {
    /// No code of its own: the text goes to the model, or into an internal error.
    Text,
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes>
    Code,
}

/// The key of the server's name and version in the `_meta` of results.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The same as the beginning of a member.
const SERVER_INFO_MEMBER: &str = r#""io.modelcontextprotocol/serverInfo":"#;
/// The key of the subscription in the `_meta` of its messages.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The request that a response answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseTo<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Method,
    pub(crate) revision: Revision,
}

/// Appends the response to `out`, one line.
pub(crate) fn answer(server: &ServerInfo, to: ResponseTo<'_>, outcome: Outcome, out: &mut Vec<u8>) {
    match outcome {
        // Written where it is: a reply is large, and most are moved nowhere.
        Ok(reply) => result(server, to, &reply, out),
        Err(failure) => match failure::translate(failure, to.method, to.revision.wire()) {
            Ok(failed) => result(server, to, &Reply::Tool(failed), out),
            Err(error) => self::error(to.id, &error, out),
        },
    }
}

/// Brings a failure into the form its answer has: a tool result, or a JSON-RPC error.
pub(crate) fn settle(outcome: &mut Outcome, to: ResponseTo<'_>) {
    if let Err(failure) = outcome {
        let failure = std::mem::replace(failure, Failure::Panicked);
        let settled = failure::translate(failure, to.method, to.revision.wire());
        *outcome = settled.map(Reply::Tool).map_err(Failure::Protocol);
    }
}

/// The answer to a request, as a line of its own.
pub(crate) fn line(server: &ServerInfo, to: ResponseTo<'_>, outcome: Outcome) -> Vec<u8> {
    let mut line = Vec::new();
    answer(server, to, outcome, &mut line);
    line
}

/// Of a text this long, a copy is worth avoiding.
const LONG_TEXT: usize = 16 * 1024;

fn result(server: &ServerInfo, to: ResponseTo<'_>, reply: &Reply, out: &mut Vec<u8>) {
    if let Reply::Tool(ToolResult { content: Blocks::Text(text), .. }) = reply
        && text.len() > LONG_TEXT
    {
        // Else the line would fit the text exactly, and grow to twice of it with what follows.
        out.reserve(text.len() + text.len() / 64 + LONG_TEXT);
    }
    begin_response(to.id, out);
    out.extend_from_slice(br#","result":"#);
    result::write(server, to, reply, out);
    out.extend_from_slice(b"}\n");
}

/// Appends an error response to `out`, one line.
pub(crate) fn error(id: Id<'_>, error: &RpcError, out: &mut Vec<u8>) {
    begin_response(id, out);
    out.extend_from_slice(br#","error":"#);
    write_json(out, error);
    out.extend_from_slice(b"}\n");
}

fn begin_response(id: Id<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_str().as_bytes());
}

fn error_value(RpcError { code, message, data }: RpcError) -> Value {
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = *data;
    }
    error
}

/// The `result` of the response, or else its `error`, without the response around it.
pub(crate) fn result_or_error(server: &ServerInfo, to: ResponseTo<'_>, outcome: Outcome) -> Result<Value, Value> {
    let reply = outcome.or_else(|failure| failure::translate(failure, to.method, to.revision.wire()).map(Reply::Tool));
    let reply = reply.map_err(error_value)?;
    let mut result = Vec::new();
    result::write(server, to, &reply, &mut result);
    Ok(from_bytes(&result).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    /// The constants side by side.
    const TABLE: &str = "
                         V2024_11_05 V2025_03_26 V2025_06_18 V2025_11_25 V2026_07_28
    audio                false       true        true        true        true
    progress_message     false       true        true        true        true
    resource_links       false       false       true        true        true
    structured_output    None        None        Objects     Objects     Any
    argument_errors      RpcError    RpcError    RpcError    ToolResult  ToolResult
    tool_execution       false       false       false       true        false
    tasks                None        None        None        Capability  Extension
    result_type          false       false       false       false       true
    server_info_in_meta  false       false       false       false       true
    cache_hints          false       false       false       false       true
    missing_capability   Text        Text        Text        Text        Code
    resource_not_found   -32002      -32002      -32002      -32002      -32602";

    fn row<T: Debug>(name: &str, column: impl Fn(Revision) -> T) -> String {
        let cells = Revision::ALL.iter().map(|revision| format!("{:?}", column(*revision)));
        let row = cells.fold(format!("\n    {name:<21}"), |row, cell| format!("{row}{cell:<12}"));
        row.trim_end().to_owned()
    }

    #[test]
    fn wire_format_of_every_revision() {
        let table = [
            row("", |revision| revision),
            row("audio", |revision| revision.wire().audio),
            row("progress_message", |revision| revision.wire().progress_message),
            row("resource_links", |revision| revision.wire().resource_links),
            row("structured_output", |revision| revision.wire().structured_output),
            row("argument_errors", |revision| revision.wire().argument_errors),
            row("tool_execution", |revision| revision.wire().tool_execution),
            row("tasks", |revision| revision.wire().tasks),
            row("result_type", |revision| revision.wire().result_type),
            row("server_info_in_meta", |revision| revision.wire().server_info_in_meta),
            row("cache_hints", |revision| revision.wire().cache_hints),
            row("missing_capability", |revision| revision.wire().missing_capability),
            row("resource_not_found", |revision| revision.wire().resource_not_found),
        ];
        assert_eq!(table.concat(), TABLE);
    }
}
