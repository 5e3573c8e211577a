//! Generates the same server on each framework, and measures what it costs to compile, and how large it gets.
#![forbid(unsafe_code)]

mod bar;
mod cargo;
mod generate;
mod options;
mod report;

use std::process::ExitCode;

use cargo::Project;
use generate::{Framework, TOOLS};
use options::{Options, Wish};
use report::{Metric, Report};

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
    let report = match measure(&options) {
        Ok(report) => report,
        Err(error) => return fail(&error),
    };
    print!("{report}");
    let verdicts = bar::judge(&report, options.counts);
    for verdict in &verdicts {
        println!("{verdict}");
    }
    if options.check && !verdicts.iter().all(bar::Verdict::met) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("compile-bench: {error}");
    ExitCode::from(2)
}

fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let projects: Vec<(Framework, Project)> = options
        .frameworks
        .iter()
        .map(|framework| Ok((*framework, Project::generate(*framework)?)))
        .collect::<Result<_>>()?;
    for (framework, project) in &projects {
        counts(*framework, project, &mut report)?;
    }
    if !options.counts {
        times(&projects, options.rounds, &mut report)?;
    }
    Ok(report)
}

/// What a busy machine does not change: the crates, and the sizes.
fn counts(framework: Framework, project: &Project, report: &mut Report) -> Result<()> {
    eprintln!("building: {framework}");
    report.add(Metric::Crates, framework, project.crates("hello")?);
    project.build_release("hello")?;
    let hello = project.stripped_size("hello")?;
    report.add(Metric::Hello, framework, hello);
    project.build_release("leaf")?;
    report.add(Metric::Tool, framework, (project.stripped_size("leaf")? - hello) / f64::from(TOOLS));
    Ok(())
}

/// CPU seconds. Rounds alternate between the frameworks, so that a slow minute affects both.
fn times(projects: &[(Framework, Project)], rounds: usize, report: &mut Report) -> Result<()> {
    // Dependencies are compiled before anything is measured.
    for (_, project) in projects {
        for metric in Metric::LEAF {
            project.compile(metric, "leaf")?;
        }
    }
    for round in 1..=rounds {
        for (framework, project) in projects {
            for metric in Metric::LEAF {
                eprintln!("round {round} of {rounds}: {framework}, {metric}");
                project.touch("leaf")?;
                report.add(metric, *framework, project.compile(metric, "leaf")?);
            }
        }
    }
    for round in 1..=rounds.div_ceil(2) {
        for (framework, project) in projects {
            eprintln!("round {round} of {}: {framework}, {}", rounds.div_ceil(2), Metric::Clean);
            project.clean()?;
            report.add(Metric::Clean, *framework, project.compile(Metric::Clean, "leaf")?);
        }
    }
    Ok(())
}
