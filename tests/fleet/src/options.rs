//! The command line.

use std::path::PathBuf;

use crate::Result;
use crate::scenario::features::FEATURES;
use crate::scenario::{LONG, SCENARIOS};

const USAGE: &str =
    "usage: fleet [--short] [--check] [--known] [--retries N] [--replicas N] [--minutes N] [--everything PROGRAM] [SCENARIO or features/FEATURE]...
       fleet serve [--replicas N] [--everything PROGRAM]";

#[derive(Debug)]
pub(crate) enum Command {
    Run(Options),
    /// A fleet to be used by others, until it is ended by a signal.
    Serve(Options),
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) scenarios: Vec<&'static str>,
    /// Those of the scenario `features`, if not all.
    pub(crate) features: Vec<&'static str>,
    short: bool,
    /// Whether a miss is a failure.
    pub(crate) check: bool,
    /// Whether those that are known are not.
    pub(crate) known: bool,
    /// How often a scenario with a miss that is not known is tried again.
    pub(crate) retries: u8,
    pub(crate) replicas: usize,
    /// How long a soak takes.
    pub(crate) minutes: Option<u64>,
    /// The program of a replica.
    pub(crate) everything: PathBuf,
}

impl Options {
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command> {
        let mut args = args.peekable();
        let serve = args.next_if(|first| first == "serve").is_some();
        let mut options = Options {
            scenarios: Vec::new(),
            features: Vec::new(),
            short: false,
            check: false,
            known: false,
            retries: 0,
            replicas: 3,
            minutes: None,
            // Cargo puts it beside this program.
            everything: std::env::current_exe()?.with_file_name("everything"),
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("`{arg}` needs a value\n{USAGE}"));
            match arg.as_str() {
                "--short" => options.short = true,
                "--check" => options.check = true,
                "--known" => options.known = true,
                "--retries" => options.retries = value()?.parse().map_err(|_| "`--retries` is a small number")?,
                "--replicas" => {
                    let count = value()?.parse().ok().filter(|count| (2..=16).contains(count));
                    options.replicas = count.ok_or("`--replicas` is 2 to 16")?;
                }
                "--minutes" => {
                    let minutes = value()?.parse().ok().filter(|minutes| (1..=600).contains(minutes));
                    options.minutes = Some(minutes.ok_or("`--minutes` is 1 to 600")?);
                }
                "--everything" => options.everything = value()?.into(),
                option if option.starts_with('-') => return Err(format!("unknown option `{option}`\n{USAGE}").into()),
                name => options.select(name)?,
            }
        }
        if options.scenarios.is_empty() {
            let wanted = |name: &&&str| !options.short || !LONG.contains(*name);
            options.scenarios = SCENARIOS.iter().filter(wanted).copied().collect();
        }
        if !options.everything.is_file() {
            return Err(format!(
                "{} is not there: build it with `cargo build -p everything`, or name it with `--everything`",
                options.everything.display()
            )
            .into());
        }
        Ok(if serve { Command::Serve(options) } else { Command::Run(options) })
    }

    /// Selects a scenario, or a feature like `features/cancel`.
    fn select(&mut self, name: &str) -> Result<()> {
        let mut features = FEATURES.iter().map(|(feature, _)| *feature);
        let feature = name.strip_prefix("features/").map(|wanted| features.find(|feature| *feature == wanted));
        let wanted = if feature.is_some() { "features" } else { name };
        let scenario = SCENARIOS.iter().find(|known| **known == wanted);
        match (scenario, feature) {
            (Some(scenario), None | Some(Some(_))) => {
                if !self.scenarios.contains(scenario) {
                    self.scenarios.push(scenario);
                }
                self.features.extend(feature.flatten());
                Ok(())
            }
            (_, Some(None)) => {
                let all: Vec<&str> = FEATURES.iter().map(|(feature, _)| *feature).collect();
                Err(format!("no feature `{name}`: there are {}", all.join(", ")).into())
            }
            (None, _) => Err(format!("no scenario `{name}`: there are {}", SCENARIOS.join(", ")).into()),
        }
    }

    /// Whether a feature was selected.
    pub(crate) fn wants(&self, feature: &str) -> bool {
        self.features.is_empty() || self.features.contains(&feature)
    }

    pub(crate) fn pick<T>(&self, short: T, normal: T) -> T {
        if self.short { short } else { normal }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Options};

    /// This program stands for the one of a replica.
    fn parse(line: &str) -> crate::Result<Options> {
        let program = std::env::current_exe()?.display().to_string();
        let args = line.split_whitespace().map(String::from).chain(["--everything".to_owned(), program]);
        match Options::parse(args)? {
            Command::Run(options) => Ok(options),
            other @ Command::Serve(_) => panic!("{other:?}"),
        }
    }

    #[test]
    fn scenarios_and_features_are_selected_by_name() {
        let options = parse("--short kill features/cancel features/roots").unwrap();
        assert_eq!(options.scenarios, ["kill", "features"]);
        assert!(options.wants("cancel") && options.wants("roots") && !options.wants("calls"));
        assert!(options.pick(true, false));
        let all = parse("--check --known --retries 2").unwrap();
        assert!(all.scenarios == super::SCENARIOS && all.wants("calls") && all.check && all.known && all.retries == 2);
        let short = parse("--short").unwrap().scenarios;
        assert!(short.contains(&"cost") && !short.contains(&"scale"), "{short:?}");
        for (wrong, told) in [
            ("kil", "redis-pause"),
            ("features/kil", "cancel"),
            ("--fast", "usage"),
            ("--replicas 1", "2 to 16"),
            ("--minutes 0", "1 to 600"),
        ] {
            assert!(parse(wrong).unwrap_err().to_string().contains(told), "{wrong}");
        }
    }
}
