//! The command line: what to measure, and how often.

use crate::Result;
use crate::generate::Framework;

pub const HELP: &str = "\
Measures what it costs to compile a server with 100 tools, on our framework and on rmcp.

usage: cargo run --release -p compile-bench -- [flags]

  --check        exit with 1 unless the bar is met (see README.md)
  --counts       only what a busy machine does not change: crates and sizes
  --only LIST    comma-separated subset of: ours, rmcp
  --rounds N     how often each time is measured; the least is reported (default: 5)
  --help         print this";

pub struct Options {
    pub frameworks: Vec<Framework>,
    pub check: bool,
    pub counts: bool,
    pub rounds: usize,
}

/// The command: help, or a measurement.
pub enum Wish {
    Help,
    Measure(Options),
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Wish> {
        let mut options = Self { frameworks: Framework::ALL.to_vec(), check: false, counts: false, rounds: 5 };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.check = true,
                "--counts" => options.counts = true,
                "--only" => options.frameworks = frameworks(&arguments.next().unwrap_or_default())?,
                "--rounds" => options.rounds = rounds(&arguments.next().unwrap_or_default())?,
                "--help" | "-h" => return Ok(Wish::Help),
                other => return Err(format!("unknown flag `{other}`\n\n{HELP}").into()),
            }
        }
        let needed = if options.counts { &[Framework::Ours][..] } else { &Framework::ALL };
        if options.check && !needed.iter().all(|needed| options.frameworks.contains(needed)) {
            let why = "`--check` compares the times of `ours` and `rmcp`, unless `--counts` leaves them out; \
                       `--only` must keep what is compared";
            return Err(why.into());
        }
        Ok(Wish::Measure(options))
    }
}

fn rounds(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err("`--rounds` needs a number from 1 on".into()),
    }
}

/// Keeps the table's order whatever the order on the command line.
fn frameworks(list: &str) -> Result<Vec<Framework>> {
    let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = names.iter().find(|name| !Framework::ALL.iter().any(|known| known.name() == **name)) {
        return Err(format!("`--only` does not know `{unknown}`; it knows ours, rmcp").into());
    }
    if names.is_empty() {
        return Err("`--only` needs a list, for example `--only ours`".into());
    }
    Ok(Framework::ALL.into_iter().filter(|framework| names.contains(&framework.name())).collect())
}
