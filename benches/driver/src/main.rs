//! Runs the servers side by side, counts what a call costs each of them, and prints ratios to the floor.
#![forbid(unsafe_code)]

mod bar;
mod cpu;
mod http;
mod options;
mod placement;
mod report;
mod server;
mod subject;
mod valgrind;
mod work;

use std::process::ExitCode;

use options::{Options, Wish};
use report::Report;
use subject::{Program, Subject};
use work::Tool;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Wish::Measure(options)) => options,
        Ok(Wish::Help) => {
            println!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&error),
    };
    match measure(&options) {
        Ok(report) => publish(&report, &options),
        Err(error) => fail(&error),
    }
}

fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("driver: {error}");
    ExitCode::from(2)
}

/// Measures everything asked for; the counts first, since they do not mind a busy machine.
fn measure(options: &Options) -> Result<Report> {
    valgrind::require()?;
    let subjects = &options.subjects;
    if options.build {
        subject::build(subjects, options)?;
    }
    let mut report = Report::new(subjects);
    if options.stdio {
        stdio(options, &mut report)?;
    }
    if options.http {
        http::measure(options, &mut report)?;
    }
    Ok(report)
}

fn stdio(options: &Options, report: &mut Report) -> Result<()> {
    let subjects = &options.subjects;
    for subject in subjects {
        server::smoke_test(*subject)?;
    }
    instructions(options, report)?;
    allocations(options, report)?;
    if !options.counts {
        cpu::measure(subjects, options.lengths, report)?;
    }
    for subject in subjects {
        report.add(report::BINARY, *subject, subject.program()?.stripped_size()?);
    }
    Ok(())
}

fn instructions(options: &Options, report: &mut Report) -> Result<()> {
    for subject in &options.subjects {
        for tool in Tool::ALL {
            eprintln!("counting instructions: {subject}, {tool}");
            let life = |command, calls| valgrind::stdio_life(command, tool, calls);
            let count = valgrind::instructions_per_call(&subject.program()?, options.lengths, life)?;
            report.add(report::instructions(tool), *subject, count);
        }
    }
    if options.subjects.contains(&Subject::Ours) {
        for others in bar::OTHER_TOOLS {
            eprintln!("counting instructions: {}, add among {others} others", Subject::Ours);
            let program = Program::ours_among(others)?;
            let life = |command, calls| valgrind::stdio_life(command, Tool::Add, calls);
            let count = valgrind::instructions_per_call(&program, options.lengths, life)?;
            report.add(report::instructions_among(others), Subject::Ours, count);
        }
        for mode in bar::OPERATED {
            eprintln!("counting instructions: {}, add, {mode}", Subject::Ours);
            let life = |command, calls| valgrind::stdio_life(command, Tool::Add, calls);
            let count = valgrind::instructions_per_call(&Program::ours_operated(mode)?, options.lengths, life)?;
            report.add(report::instructions_operated(mode), Subject::Ours, count);
        }
    }
    Ok(())
}

fn allocations(options: &Options, report: &mut Report) -> Result<()> {
    for subject in &options.subjects {
        for tool in Tool::ALL {
            eprintln!("counting allocations: {subject}, {tool}");
            let count = valgrind::allocations_per_call(&subject.program()?, tool, options.lengths)?;
            report.add(report::allocations(tool), *subject, count);
        }
    }
    Ok(())
}

/// Prints the report, and with `--check` turns a missed bar into a failing exit.
fn publish(report: &Report, options: &Options) -> ExitCode {
    let verdicts = bar::judge(report);
    if options.json {
        println!("{}", report.json(&verdicts));
    } else {
        print!("{}", report.text());
        for verdict in &verdicts {
            println!("{verdict}");
        }
    }
    if options.check && !bar::all_met(&verdicts, options) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
