//! Failed calls in the client's revision: a tool result where the model can act on it, else an error response.

use serde_json::{Value, json};

use super::{ArgumentErrors, MissingCapabilityFormat, WireFormat};
use crate::era::Method;
use crate::error::chain;
use crate::jsonrpc::error::{RpcError, shorten};
use crate::outcome::{self, ArgumentError, Failure, MissingCapability};
use crate::protocol::ToolResult;

/// The tool result or the error that answers a failed call.
pub(super) fn translate(failure: Failure, method: Method, wire: &WireFormat) -> Result<ToolResult, RpcError> {
    let is_tool = method == Method::ToolsCall;
    match failure {
        Failure::Protocol(error) => Err(error),
        Failure::ResourceNotFound(uri) => Err(resource_not_found(&uri, wire)),
        Failure::Arguments(errors) if is_tool && wire.argument_errors == ArgumentErrors::ToolResult => {
            let text = format!("Invalid arguments:{}", sentence(&errors));
            Ok(ToolResult::error(text).with_meta("argumentError", details(&errors)))
        }
        Failure::Arguments(errors) => {
            Err(RpcError::invalid_params(format!("Invalid params:{}", sentence(&errors))).with_data(details(&errors)))
        }
        Failure::MissingCapability(missing) if wire.missing_capability == MissingCapabilityFormat::Code => {
            Err(missing_capability(&missing))
        }
        Failure::Handler(source) if is_tool => Ok(ToolResult::error(chain(&*source))),
        Failure::Declined(text) | Failure::MissingCapability(MissingCapability { text, .. }) if is_tool => {
            Ok(ToolResult::error(text))
        }
        #[cfg(feature = "auth")]
        Failure::Forbidden(denied) => Err(denied.to_error()),
        Failure::Throttled(throttled) => Err(throttled.to_error()),
        Failure::ShutDown => Err(outcome::shut_down()),
        Failure::Unavailable(text) => Err(internal(text.to_owned())),
        Failure::Declined(text) => Err(RpcError::new(RpcError::USER_DECLINED, text)),
        Failure::MissingCapability(MissingCapability { text, .. }) => Err(internal(text)),
        Failure::Handler(source) => Err(internal(chain(&*source))),
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

/// All errors in one text: a single one as it is, several as a list.
fn sentence(errors: &[ArgumentError]) -> String {
    match errors {
        [only] => format!(" {only}"),
        _ => ArgumentError::list(errors),
    }
}

/// The first error, with all of them under `errors` if there are several.
fn details(errors: &[ArgumentError]) -> Value {
    let mut details = errors.first().map_or_else(|| json!({}), |first| json!(first));
    if errors.len() > 1 {
        details["errors"] = json!(errors);
    }
    details
}

fn missing_capability(missing: &MissingCapability) -> RpcError {
    RpcError::new(RpcError::MISSING_CAPABILITY, format!("Missing client capability: {}", missing.text))
        .with_data(json!({"requiredCapabilities": missing.required}))
}

fn resource_not_found(uri: &str, wire: &WireFormat) -> RpcError {
    RpcError::new(wire.resource_not_found, format!("Resource not found: {}", shorten(uri)))
        .with_data(json!({"uri": shorten(uri)}))
}
