//! The command line: what to measure, how long, and how to print it.

use crate::{Result, subject::Subject};

pub const HELP: &str = "\
Measures what one MCP tool call costs: a hand-written floor, our framework, and rmcp.

usage: cargo run --release -p driver -- [flags]

  --check        exit with 1 unless the bar is met (see README.md)
  --quick        shorter runs: good enough for a look, not for publishing
  --counts       only what a busy machine does not change: instructions, allocations, memory of sessions
  --stdio        only what is measured over stdio
  --http         only what is measured over HTTP
  --only LIST    comma-separated subset of: floor, ours, rmcp, rmcp-tuned
  --no-build     measure the release binaries that are already there
  --json         print machine-readable JSON instead of a table
  --help         print this";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    pub subjects: Vec<Subject>,
    pub build: bool,
    pub check: bool,
    pub counts: bool,
    pub stdio: bool,
    pub http: bool,
    pub json: bool,
    pub lengths: Lengths,
}

/// The command: help, or a measurement.
pub enum Wish {
    Help,
    Measure(Options),
}

/// How long each kind of run is.
#[derive(Clone, Copy)]
pub struct Lengths {
    /// Calls in the shorter valgrind run; the longer one has twice as many.
    pub counted_calls: usize,
    /// Calls per CPU round.
    pub timed_calls: usize,
    /// CPU rounds per server; the least is reported.
    pub rounds: usize,
    /// The same over HTTP, where a call takes longer.
    pub http_calls: usize,
    pub http_rounds: usize,
}

const FULL: Lengths =
    Lengths { counted_calls: 2_000, timed_calls: 5_000, rounds: 15, http_calls: 3_200, http_rounds: 21 };
const QUICK: Lengths = Lengths { counted_calls: 500, timed_calls: 1_000, rounds: 5, http_calls: 1_280, http_rounds: 9 };

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Wish> {
        let mut options = Self {
            subjects: Subject::ALL.to_vec(),
            build: true,
            check: false,
            counts: false,
            stdio: true,
            http: true,
            json: false,
            lengths: FULL,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.check = true,
                "--counts" => options.counts = true,
                "--quick" => options.lengths = QUICK,
                "--stdio" => options.http = false,
                "--http" => options.stdio = false,
                "--json" => options.json = true,
                "--no-build" => options.build = false,
                "--only" => options.subjects = subjects(&arguments.next().unwrap_or_default())?,
                "--help" | "-h" => return Ok(Wish::Help),
                other => return Err(format!("unknown flag `{other}`\n\n{HELP}").into()),
            }
        }
        if !options.stdio && !options.http {
            return Err("`--stdio` and `--http` each leave out the other; without either, both are measured".into());
        }
        let needed = if options.http && !options.counts { &Subject::ALL[..] } else { &[Subject::Floor, Subject::Ours] };
        if options.check && !needed.iter().all(|needed| options.subjects.contains(needed)) {
            return Err(
                "`--check` compares `ours` with `floor`, and over HTTP with the others, too, unless `--counts` \
                        leaves out what is compared with them; `--only` must keep them"
                    .into(),
            );
        }
        Ok(Wish::Measure(options))
    }
}

/// Keeps the table's order whatever the order on the command line.
fn subjects(list: &str) -> Result<Vec<Subject>> {
    let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = names.iter().find(|name| !Subject::ALL.iter().any(|subject| subject.name() == **name)) {
        return Err(format!("`--only` does not know `{unknown}`; it knows floor, ours, rmcp, rmcp-tuned").into());
    }
    if names.is_empty() {
        return Err("`--only` needs a list, for example `--only floor,ours`".into());
    }
    Ok(Subject::ALL.into_iter().filter(|subject| names.contains(&subject.name())).collect())
}
