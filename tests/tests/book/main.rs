//! The blocks of the book that a doctest only compiles (`no_run`), because they serve until a signal, or name an address, a file
//! or a server that only the reader has. Each is run here, most of them in a process of their own, and does what its page says.
//!
//! Commands that a page shows for such a program are run here, too: `commands.rs`.
//!
//! `cargo test -p mcp-tests --test book http` runs those of `http.md`. A new block fails until it has a check.

#[cfg(unix)] // they end with SIGTERM, and some listen on Unix sockets
mod authorization;
#[cfg(unix)]
mod child;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod layers;
#[cfg(unix)]
mod observability;
#[cfg(unix)]
mod programs;
#[cfg(unix)]
mod redis;
#[cfg(unix)]
mod services;

#[cfg(not(unix))]
fn main() {}

/// Runs the block that the environment names, or the checks whose name has one of the arguments in it.
#[cfg(unix)]
#[expect(clippy::print_stdout, reason = "the lines of cargo's test runner, which `tests/tested` reads")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    if let Ok(block) = std::env::var(child::BLOCK) {
        return programs::run(&block);
    }
    if std::env::args().any(|argument| argument == "--list") {
        for name in checks() {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut passed, mut failed) = (0, 0);
    for name in checks().filter(is_wanted) {
        // In a task, whose panic has told what is wrong.
        let done = runtime.block_on(async { tokio::spawn(check(name)).await });
        *(if done.is_ok() { &mut passed } else { &mut failed }) += 1;
        println!("test {name} ... {}", if done.is_ok() { "ok" } else { "FAILED" });
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// The names of the checks: the blocks, and commands.
#[cfg(unix)]
fn checks() -> impl Iterator<Item = &'static str> {
    programs::BLOCKS.iter().copied().chain(commands::NAMES)
}

/// Runs a block or commands, and checks what they do.
#[cfg(unix)]
async fn check(name: &str) {
    match name {
        "authorization_1" => authorization::program().await,
        "authorization_2" => authorization::people_and_machines().await,
        "authorization_3" => authorization::bound_tokens().await,
        "authorization_4" => authorization::own_verification().await,
        "authorization_5" => authorization::document_in_axum().await,
        "authorization_6" => authorization::doctor().await,
        "deploying_1" => redis::deployed().await,
        "first_tool_1" => commands::over_stdio(),
        "http_1" => http::service().await,
        "http_2" => http::command_line().await,
        "http_3" => services::web_pages().await,
        "http_4" => services::principals().await,
        "http_5" => services::behind_a_proxy().await,
        "http_6" => http::tls().await,
        "http_7" => http::several_sockets().await,
        "http_8" => http::sockets_of_systemd().await,
        "http_9" => services::probes().await,
        "http_10" => services::in_axum().await,
        "middleware_1" => layers::logging().await,
        "middleware_2" => layers::built_in().await,
        "middleware_3" => layers::of_tower().await,
        "observability_1" => observability::log().await,
        "observability_2" => observability::spans().await,
        "observability_3" => observability::exporters().await,
        "prompts_commands" => commands::prompts().await,
        "replicas_1" => redis::replicas().await,
        "replicas_2" => redis::replicas_in_memory().await,
        _ => panic!("{name} is `no_run`, and no check runs it: let it run as a doctest, or write a check"),
    }
}
