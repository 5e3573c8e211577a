//! The blocks as modules, and how each is run in a process of its own.

use std::process::{ExitCode, Termination as _};

use mcp_runtime::auth::Auth;
use mcp_runtime::prelude::*;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// What stands for an address, a path or a URL of the page: the environment has a variable of that name.
fn here(shown: &str) -> &'static str {
    let given = std::env::var(shown).unwrap_or_else(|_| panic!("the check says nothing that stands for {shown}"));
    given.leak()
}

/// Runs a block, in this process.
pub(crate) fn run(block: &str) -> ExitCode {
    match block {
        "authorization_1" => authorization_1::main().report(),
        "authorization_2" => serve(authorization_2::auth()).report(),
        "authorization_3" => serve(authorization_3::auth()).report(),
        "authorization_4" => serve(authorization_4::auth()).report(),
        "authorization_6" => {
            tokio::runtime::Runtime::new().unwrap().block_on(authorization_6::examined());
            ExitCode::SUCCESS
        }
        "deploying_1" => deploying_1::main().report(),
        "first_tool_1" => first_tool_1::main().report(),
        "http_1" => http_1::main().report(),
        "http_2" => http_2::main().report(),
        "http_6" => crate::http::over_tls(http_6::serve, here("0.0.0.0:8443")).report(),
        "http_7" => http_7::main().report(),
        "http_8" => http_8::main().report(),
        "http_10" => http_10::main().report(),
        "middleware_1" => crate::layers::log_a_call().report(),
        "observability_1" => observability_1::main().report(),
        "observability_2" => crate::observability::call_in_a_span().report(),
        "observability_3" => observability_3::main().report(),
        "prompts" => crate::commands::serve_prompts(),
        "replicas_1" => replicas_1::main().report(),
        _ => panic!("{block} does not run in a process of its own"),
    }
}

/// Who calls.
#[tool(read_only)]
fn whoami(ctx: &Context) -> Result<String> {
    Ok(ctx.user()?.subject().to_owned())
}

/// Serves those whom an `Auth` of the page lets in.
#[tokio::main]
async fn serve(auth: Auth) -> Result<(), ServerError> {
    let server = Server::new("notes", "1.0.0").tools(tools![whoami]);
    server.into_service().authorize(auth).serve(here("127.0.0.1:8080")).await
}
