//! `protected-notes http 127.0.0.1:8080` serves over HTTP, for whoever has a token: `ISSUER` in the environment is the
//! authorization server, `RESOURCE` the URL that people type into their client. Everything else is the command line that
//! every server has (`--help`), for the person who types it.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use mcp_runtime::auth::Auth;
use tracing_subscriber::filter::LevelFilter;

#[tokio::main]
async fn main() -> ExitCode {
    // An issuer without keys, or with another name than `ISSUER`, is told here, and not to clients.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::WARN)
        .with_ansi(false)
        .without_time()
        .init();
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "http") {
        arguments[0] = "--http".into();
    }
    let over_http = arguments.first().is_some_and(|first| first.to_string_lossy().starts_with("--http"));
    let auth = if over_http { remote() } else { Ok(protected_notes::local()) };
    match auth {
        Ok(auth) => protected_notes::server(auth).run_with(arguments).await,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn remote() -> Result<Auth, String> {
    let issuer = variable("ISSUER", "the URL of the authorization server, such as https://auth.example.com")?;
    let resource = variable("RESOURCE", "the URL people type into their client, such as https://mcp.example.com/mcp")?;
    Ok(protected_notes::remote(&issuer, &resource))
}

fn variable(name: &str, meaning: &str) -> Result<String, String> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        Ok(_) | Err(env::VarError::NotPresent) => Err(format!("set {name} in the environment: {meaning}")),
        Err(env::VarError::NotUnicode(_)) => Err(format!("{name} is not UTF-8; it must be {meaning}")),
    }
}
