//! Failed calls in the client's revision: a tool result where the model can act on it, else an error response.

use serde_json::json;

use super::{ArgumentErrors, MissingCapabilityFormat, WireFormat};
use crate::era::Method;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::outcome::{ArgumentError, Failure, MissingCapability};
use crate::protocol::ToolResult;

/// The tool result or the error that answers a failed call.
pub(super) fn translate(failure: Failure, method: Method, wire: &WireFormat) -> Result<ToolResult, RpcError> {
    let is_tool = method == Method::ToolsCall;
    match failure {
        Failure::Protocol(error) => Err(error),
        Failure::ResourceNotFound(uri) => Err(resource_not_found(&uri, wire)),
        Failure::Arguments(error) if is_tool && wire.argument_errors == ArgumentErrors::ToolResult => {
            Ok(invalid_arguments(&error))
        }
        Failure::Arguments(error) => {
            Err(RpcError::invalid_params(format!("Invalid params: {error}")).with_data(json!(error)))
        }
        Failure::MissingCapability(missing) if wire.missing_capability == MissingCapabilityFormat::Code => {
            Err(missing_capability(&missing))
        }
        Failure::Handler(text) | Failure::MissingCapability(MissingCapability { text, .. }) if is_tool => {
            Ok(ToolResult::error(text))
        }
        Failure::Handler(text) | Failure::MissingCapability(MissingCapability { text, .. }) => Err(internal(text)),
        Failure::Panicked => aborted(method, "failed unexpectedly; the server's log has the details"),
        Failure::TimedOut(limit) => aborted(method, &format!("timed out after {limit:?}")),
    }
}

/// The answer to a call whose handler did not return.
fn aborted(method: Method, how: &str) -> Result<ToolResult, RpcError> {
    match method {
        Method::ToolsCall => Ok(ToolResult::error(format!("The tool {how}."))),
        _ => Err(internal(format!("{} {how}", method.name()))),
    }
}

fn internal(text: String) -> RpcError {
    RpcError::new(RpcError::INTERNAL, text)
}

fn invalid_arguments(error: &ArgumentError) -> ToolResult {
    ToolResult::error(format!("Invalid arguments: {error}")).with_meta("argumentError", json!(error))
}

fn missing_capability(missing: &MissingCapability) -> RpcError {
    RpcError::new(RpcError::MISSING_CAPABILITY, format!("Missing client capability: {}", missing.text))
        .with_data(json!({"requiredCapabilities": missing.required}))
}

fn resource_not_found(uri: &str, wire: &WireFormat) -> RpcError {
    RpcError::new(wire.resource_not_found, format!("Resource not found: {}", shorten(uri)))
        .with_data(json!({"uri": shorten(uri)}))
}
