//! [`Query`]: a command that asks a server something, as it is written on a command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt as _};

use super::error::CliError;
use crate::protocol::Revision;

/// A command that asks a server something: `tools`, `call add a=2 b=3`, `read note://1`.
#[derive(Debug, Clone)]
pub struct Query {
    pub(super) command: Command,
    /// What follows the command: names, `key=value` pairs.
    pub(super) words: Vec<String>,
    pub(super) options: QueryOptions,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Inspect,
    Tools,
    Resources,
    Prompts,
    Call,
    Read,
    Get,
    Complete,
    Schema,
    Lint,
}

impl Command {
    pub(super) const ALL: [(&'static str, Command); 10] = [
        ("inspect", Command::Inspect),
        ("tools", Command::Tools),
        ("resources", Command::Resources),
        ("prompts", Command::Prompts),
        ("call", Command::Call),
        ("read", Command::Read),
        ("get", Command::Get),
        ("complete", Command::Complete),
        ("schema", Command::Schema),
        ("lint", Command::Lint),
    ];

    fn takes_arguments(self) -> bool {
        matches!(self, Command::Call | Command::Get)
    }
}

/// The options of all commands.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct QueryOptions {
    /// Lists as JSON, results as the server sent them.
    pub(super) json: bool,
    /// The estimated tokens of each tool.
    pub(super) tokens: bool,
    /// The arguments of a call as one JSON object.
    pub(super) arguments: Option<String>,
    /// Answers to the questions of a call, instead of a person's.
    pub(super) answers: Vec<String>,
    /// The file or directory for the result.
    pub(super) out: Option<PathBuf>,
    pub(super) revision: Option<Revision>,
    pub(super) timeout: Option<Duration>,
    /// Neither progress nor log messages.
    pub(super) quiet: bool,
    /// Progress also where no person watches.
    pub(super) progress: bool,
}

impl Query {
    /// Whether this is the name of a command that asks a server, such as `call`.
    pub fn is_command(name: &str) -> bool {
        Command::ALL.iter().any(|(known, _)| *known == name)
    }

    /// The names of the commands, for a "did you mean".
    pub fn commands() -> impl Iterator<Item = &'static str> {
        Command::ALL.iter().map(|(name, _)| *name)
    }

    /// Reads the arguments that follow the command's name.
    pub fn parse(command: &str, arguments: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let known = Command::ALL.iter().find(|(name, _)| *name == command);
        let Some(&(_, command)) = known else { return Err(CliError::usage(format!("no command `{command}`"))) };
        let mut query = Query { command, words: Vec::new(), options: QueryOptions::default() };
        let mut parser = Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Value(word) => query.words.push(word.string()?),
                Arg::Long("json") if command.takes_arguments() => {
                    query.options.arguments = Some(parser.value()?.string()?);
                }
                Arg::Long("json" | "raw") => query.options.json = true,
                Arg::Long("tokens") => query.options.tokens = true,
                Arg::Long("answer") => query.options.answers.push(parser.value()?.string()?),
                Arg::Short('o') | Arg::Long("out") => query.options.out = Some(parser.value()?.into()),
                Arg::Long("revision") => query.options.revision = Some(parser.value()?.parse()?),
                Arg::Long("timeout") => query.options.timeout = Some(seconds(&parser.value()?.string()?)?),
                Arg::Short('q') | Arg::Long("quiet") => query.options.quiet = true,
                Arg::Long("progress") => query.options.progress = true,
                other => return Err(other.unexpected().into()),
            }
        }
        query.check()
    }

    /// The words fit the command.
    fn check(self) -> Result<Self, CliError> {
        let wants = |usage: &str| CliError::usage(format!("write `{usage}`"));
        match (self.command, &self.words[..]) {
            (Command::Call, []) => Err(wants("call TOOL key=value …`; `tools` lists them")),
            (Command::Get, []) => Err(wants("get PROMPT key=value …`; `prompts` lists them")),
            (Command::Read, words) if words.len() != 1 => Err(wants("read URI")),
            (Command::Complete, words) if words.len() < 2 => {
                Err(wants("complete PROMPT argument=typed …` or `complete URI_TEMPLATE variable=typed …"))
            }
            (Command::Tools | Command::Resources | Command::Prompts, words) if words.len() > 1 => {
                Err(CliError::usage("name one item, or none for the list"))
            }
            (Command::Inspect | Command::Schema | Command::Lint, [word, ..]) => {
                Err(CliError::usage(format!("unexpected argument `{word}`")))
            }
            _ => Ok(self),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, CliError> {
    let seconds = text.trim_end_matches('s').parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| CliError::usage(format!("`--timeout {text}`: write seconds, such as 30 or 0.5")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Query, CliError> {
        let mut words = line.split(' ');
        Query::parse(words.next().unwrap_or_default(), words.map(OsString::from))
    }

    #[test]
    fn json_is_the_arguments_of_a_call_and_the_form_of_a_list() {
        assert!(parse("tools --json").unwrap().options.json);
        let call = parse(r#"call add --json {"a":1}"#).unwrap();
        assert_eq!(call.options.arguments.as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(call.words, ["add"]);
    }

    #[test]
    fn wrong_command_lines_are_usage_errors_with_a_hint() {
        for (line, hint) in [
            ("call", "write `call TOOL key=value …`"),
            ("read", "write `read URI`"),
            ("call add --jsn", "--jsn"),
            ("call add --revision 1999-01-01", "1999-01-01"),
            ("call add --timeout soon", "write seconds"),
            ("lint now", "unexpected argument `now`"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.code(), 2, "{line}");
            assert!(error.to_string().contains(hint), "{line}: {error}");
        }
    }
}
