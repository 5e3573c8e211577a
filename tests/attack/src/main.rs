//! Attacks a server over loopback and measures what a well-behaved client gets meanwhile. `README.md` has the method.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program whose output is a table")]

mod attacked;
mod attacker;
mod figures;
mod good;
mod http;
mod measure;
mod message;
mod options;
mod process;
mod report;
mod scenario;
mod target;

use std::process::ExitCode;

use options::{Command, Options};
use report::Report;

/// Whatever stops the driver itself. What a server does wrong is a verdict instead.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let outcome = match Options::parse(std::env::args().skip(1)) {
        Ok(Command::Serve { address, sse }) => attacked::serve(&address, sse).map(|()| ExitCode::SUCCESS),
        Ok(Command::List) => {
            print!("{}", scenario::list());
            Ok(ExitCode::SUCCESS)
        }
        Ok(Command::Attack(options)) => attack(&options),
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("attack: {error}");
        ExitCode::from(2)
    })
}

fn attack(options: &Options) -> Result<ExitCode> {
    let descriptors = process::raise_descriptor_limit();
    let mut report = Report::new(options);
    report.head();
    for scenario in &options.scenarios {
        let mut left = options.retries;
        while report.add(scenario, measure::scenario(scenario, options, descriptors)?, left > 0) && left > 0 {
            left -= 1;
        }
    }
    report.foot();
    Ok(if options.check && report.missed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
