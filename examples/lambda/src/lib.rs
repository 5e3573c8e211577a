//! A server on AWS Lambda.
//!
//! Lambda starts as many instances as there are requests at a time, sends each of them one request after the other, and
//! freezes them in between. So each request has to be complete in itself, or find what it needs in a backend, and nothing
//! may go on after the response: there is no `#[tool(task)]` here.

use lambda_http::http::request::Parts;
use lambda_http::request::RequestContext;
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::store::Backend;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Scale {
    /// Which one?
    unit: Unit,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Convert a temperature to kelvin, asking for its unit.
#[tool(read_only, requires(elicitation))]
async fn to_kelvin(
    ctx: &Context,
    /// The temperature, in Celsius or Fahrenheit.
    temperature: f64,
) -> Result<f64> {
    let Scale { unit } = ctx.elicit(format!("{temperature} degrees of which unit?")).await?;
    Ok(match unit {
        Unit::Celsius => temperature + 273.15,
        Unit::Fahrenheit => (temperature - 32.0) / 1.8 + 273.15,
    })
}

/// Convert a length from inches to centimeters.
#[tool(read_only)]
fn to_centimeters(
    /// The length.
    inches: f64,
) -> f64 {
    inches * 2.54
}

/// The server.
pub fn server() -> Server {
    Server::new("converter", env!("CARGO_PKG_VERSION")).tools(tools![to_centimeters, to_kelvin])
}

/// Serves every request by itself, in every revision. Only clients of 2026-07-28 can be asked: their answer comes with the
/// next request, and the secret, which all instances have, opens what the client holds in between.
pub fn alone(secret: &str) -> HttpService {
    on_lambda(server().state_secrets([secret]).into_service()).stateless()
}

/// Serves clients of older revisions with sessions, which are in the backend. Takes response streaming: in a session a
/// question is an event in a response that has not ended.
pub fn with_sessions(backend: impl Backend) -> HttpService {
    on_lambda(server().backend(backend).into_service())
}

fn on_lambda(service: HttpService) -> HttpService {
    // AWS has found the function by the name of its host, and routes no other name to it.
    service.allow_hosts(["*"]).principal(user)
}

/// The user, as a JWT authorizer of the API Gateway has found. A function URL has none: it is open, or takes IAM.
fn user(request: &Parts) -> Option<String> {
    let Some(RequestContext::ApiGatewayV2(context)) = request.extensions.get() else { return None };
    context.authorizer.as_ref()?.jwt.as_ref()?.claims.get("sub").cloned()
}
