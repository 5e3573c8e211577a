//! The commands that may be run.

use std::path::Path;
use std::process::Stdio;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::process::Command;

/// A command that may be run.
///
/// No shell reads it, so `;`, `$(…)` and `>` are characters like others. That is not enough to run anything safely:
/// allow only what you would let the model do without asking you.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(description = "A command.")]
pub struct Allowed {
    /// What `run` calls it.
    pub(crate) name: String,
    description: String,
    /// Whether arguments can be added.
    takes_arguments: bool,
    /// The program and its first arguments.
    #[serde(skip)]
    words: Vec<String>,
}

impl Allowed {
    /// Allows to run these words, and nothing more.
    pub fn new<const N: usize>(name: &str, description: &str, words: [&str; N]) -> Self {
        const { assert!(N > 0, "the first word is the program") };
        let words = words.map(str::to_owned).to_vec();
        Allowed { name: name.to_owned(), description: description.to_owned(), words, takes_arguments: false }
    }

    /// Lets the caller add arguments, but no options.
    pub fn with_arguments(self) -> Self {
        Allowed { takes_arguments: true, ..self }
    }

    /// The command as the system runs it, in this directory.
    pub fn command(&self, arguments: &[String], directory: &Path) -> Result<Command> {
        if !self.takes_arguments && !arguments.is_empty() {
            return Err(Error::msg(format!("{} takes no arguments: leave `arguments` out", self.name)));
        }
        // `--output=…`, `--exec=…`: many programs have options that make them do something else.
        if let Some(option) = arguments.iter().find(|argument| argument.starts_with('-')) {
            return Err(Error::msg(format!("the option `{option}` is not allowed: arguments must not begin with `-`")));
        }
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(arguments).current_dir(directory);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// The commands of this server. Change them to yours.
pub fn allowed() -> Vec<Allowed> {
    vec![
        Allowed::new("git_status", "Show which files have changed.", ["git", "status", "--short"]),
        Allowed::new(
            "git_diff",
            "Show the changes that are not staged, of all files or of some.",
            ["git", "diff", "--"],
        )
        .with_arguments(),
        Allowed::new("git_log", "Show the last 20 commits.", ["git", "log", "--oneline", "-n", "20"]),
        Allowed::new("cargo_check", "Compile the project, and show its errors.", ["cargo", "check"]),
        Allowed::new("cargo_test", "Run the tests, or those whose name contains a word.", ["cargo", "test", "--"])
            .with_arguments(),
    ]
}
