//! The command line.

use std::time::Duration;

use crate::Result;
use crate::scenario::{self, Scenario};
use crate::target::Target;

const USAGE: &str = "usage: attack [--short | --long] [--same-address] [--addresses N] [--check] [--retries N] [--list]
              [--rmcp | --url http://127.0.0.1:8080/mcp [--pid N]] [SCENARIO or ROW]...";

#[derive(Debug)]
pub(crate) enum Command {
    Attack(Options),
    List,
    /// What the driver starts: the server under attack.
    Serve {
        address: String,
        sse: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) scenarios: Vec<&'static Scenario>,
    pub(crate) size: Size,
    pub(crate) subject: Subject,
    pub(crate) same_address: bool,
    pub(crate) addresses: u8,
    pub(crate) check: bool,
    /// How often a scenario that misses a bar is tried again.
    pub(crate) retries: u8,
}

/// Who is attacked.
#[derive(Debug)]
pub(crate) enum Subject {
    Ours,
    /// rmcp on axum.
    Rmcp,
    /// A process that already runs.
    Other {
        target: Target,
        id: Option<u32>,
    },
}

/// How long and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Short,
    Normal,
    Long,
}

impl Size {
    pub(crate) fn pick<T>(self, short: T, normal: T, long: T) -> T {
        match self {
            Size::Short => short,
            Size::Normal => normal,
            Size::Long => long,
        }
    }

    /// How long the good client has the server for itself.
    pub(crate) fn baseline(self) -> Duration {
        Duration::from_millis(self.pick(1200, 3000, 5000))
    }

    pub(crate) fn attack(self) -> Duration {
        Duration::from_secs(self.pick(4, 10, 30))
    }
}

impl Options {
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command> {
        let args: Vec<String> = args.collect();
        if let Some(("serve", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
            return Self::parse_serve(rest);
        }
        let mut args = args.into_iter();
        let mut names = Vec::new();
        let (mut url, mut id, mut rmcp) = (None, None, false);
        let (mut size, mut same_address, mut addresses, mut check, mut retries) = (Size::Normal, false, 4, false, 0);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("`{arg}` needs a value\n{USAGE}"));
            match arg.as_str() {
                "--short" => size = Size::Short,
                "--long" => size = Size::Long,
                "--same-address" => same_address = true,
                "--addresses" => {
                    let count = value()?.parse().ok().filter(|count| (1..=200).contains(count));
                    addresses = count.ok_or("`--addresses` is 1 to 200")?;
                }
                "--check" => check = true,
                "--retries" => retries = value()?.parse().map_err(|_| "`--retries` is a small number")?,
                "--list" => return Ok(Command::List),
                "--rmcp" => rmcp = true,
                "--url" => url = Some(Target::parse(&value()?)?),
                "--pid" => id = Some(value()?.parse().map_err(|_| "`--pid` is the number of a process")?),
                "-h" | "--help" => return Err(USAGE.into()),
                option if option.starts_with('-') => return Err(format!("unknown option `{option}`\n{USAGE}").into()),
                _ => names.push(arg),
            }
        }
        let subject = match (url, rmcp) {
            (Some(_), true) => return Err("`--url` and `--rmcp` exclude each other".into()),
            (Some(target), false) => Subject::Other { target, id },
            (None, true) => Subject::Rmcp,
            (None, false) => Subject::Ours,
        };
        let scenarios = scenario::select(&names, size)?;
        Ok(Command::Attack(Options { scenarios, size, subject, same_address, addresses, check, retries }))
    }

    fn parse_serve(rest: &[String]) -> Result<Command> {
        let (sse, rest) =
            rest.split_first().filter(|(first, _)| *first == "--sse").map_or((false, rest), |(_, rest)| (true, rest));
        let [address] = rest else { return Err("usage: attack serve [--sse] ADDRESS".into()) };
        Ok(Command::Serve { address: address.clone(), sse })
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Options, Size, Subject};

    fn parse(line: &str) -> crate::Result<Options> {
        match Options::parse(line.split_whitespace().map(String::from))? {
            Command::Attack(options) => Ok(options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scenarios_are_chosen_by_name_and_by_row() {
        let names =
            |line: &str| parse(line).unwrap().scenarios.iter().map(|scenario| scenario.name).collect::<Vec<_>>();
        assert_eq!(names("--short slow-bodies blocking"), ["slow-bodies", "blocking"]);
        assert!(names("3").len() > 5);
        assert!(!names("--short").contains(&"leftovers") && names("--long").contains(&"leftovers"));
        assert!(parse("slow-bodie").unwrap_err().to_string().contains("slow-bodies"));
    }

    #[test]
    fn options_are_read() {
        let options = parse("--long --same-address --check --retries 2 --url http://127.0.0.1:1/mcp --pid 7").unwrap();
        assert!(options.size == Size::Long && options.same_address && options.check && options.retries == 2);
        assert!(matches!(options.subject, Subject::Other { id: Some(7), .. }));
        for wrong in
            ["--fast", "--url", "--url http://192.0.2.1:80/mcp", "--addresses 0", "--rmcp --url http://127.0.0.1:1"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
