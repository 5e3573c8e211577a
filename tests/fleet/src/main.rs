//! A fleet under test: replicas of `everything` as processes, a round-robin proxy, a real Redis, and clients that count what
//! they get. `README.md` has the method.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program whose output is a table")]

mod client;
mod folder;
mod http;
mod kept_alive;
mod load;
mod options;
mod proxy;
mod redis;
mod replica;
mod report;
mod scenario;
mod sentinels;
mod site;
mod wire;

use std::process::ExitCode;

use options::{Command, Options};
use redis::Redis;
use report::Report;
use site::Site;
use tokio::signal::unix::{SignalKind, signal};

/// Whatever stops the driver itself. What a fleet does wrong is a verdict instead.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Options::parse(std::env::args().skip(1)) {
        Ok(Command::Run(options)) => unless_ended(run(&options)).await,
        Ok(Command::Serve(options)) => unless_ended(serve(&options)).await,
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("fleet: {error}");
        ExitCode::from(2)
    })
}

/// Whatever it started ends with the future, so that a signal leaves no process behind.
async fn unless_ended(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = work => done,
        _ = terminate.recv() => Ok(ExitCode::from(143)),
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
    }
}

async fn run(options: &Options) -> Result<ExitCode> {
    Report::head(options);
    let mut report = Report::default();
    for scenario in &options.scenarios {
        let mut left = options.retries;
        while report.add(&scenario::run(scenario, options).await?, left > 0) {
            left -= 1;
        }
    }
    report.foot();
    let failed = options.check && report.failed(options.known);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn serve(options: &Options) -> Result<ExitCode> {
    let redis = Redis::start().await?;
    let site = Site::start(options, &redis).await?;
    eprintln!("listening on http://{}/mcp", site.address());
    std::future::pending().await
}
