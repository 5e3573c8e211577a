//! The README of a new server: the next commands, then what the example says about itself.

use serde_json::Value;

use super::example::Example;
use crate::contract::{Contract, sample_arguments, text, tool_arguments};

/// What decides about the commands.
pub(super) struct Features {
    /// The binary has the subcommands of `Server::run`.
    pub(super) command_line: bool,
    /// It serves over HTTP, too.
    pub(super) http: bool,
}

impl Features {
    /// The next commands, each with what it does.
    pub(super) fn commands(&self, example: &Example) -> Vec<(String, &'static str)> {
        if !self.command_line {
            return vec![
                ("cargo test".to_owned(), "calls the handlers in memory"),
                ("cargo run".to_owned(), "serves"),
                ("cargo mcp dev".to_owned(), "serves, and rebuilds when a file is saved"),
            ];
        }
        // The server's own options come before its command.
        let options = example.metadata("options");
        let run = match &options {
            Some(options) => format!("cargo run -- {options}"),
            None => "cargo run --".to_owned(),
        };
        let dev = match &options {
            Some(options) => format!("cargo mcp dev -- {options}"),
            None => "cargo mcp dev".to_owned(),
        };
        let mut commands = vec![
            (format!("{run} {}", call(example)), "calls a tool"),
            (dev, "serves, and rebuilds when a file is saved"),
            (format!("{run} install cursor"), "adds it to a client"),
        ];
        if self.http {
            commands.insert(1, (format!("{run} --http 127.0.0.1:8080"), "serves over HTTP"));
        }
        commands
    }
}

/// The call that the example names, or else one of the tool that is easiest to call.
fn call(example: &Example) -> String {
    if let Some(call) = example.metadata("call") {
        return format!("call {call}");
    }
    let contract = example.text("contract.json").and_then(|text| Contract::parse(text).ok());
    let easy = |tool: &&Value| {
        let mut required = tool_arguments(tool).into_iter().filter(|argument| argument.required);
        required.all(|argument| {
            ["integer", "number", "boolean", "string"].iter().any(|kind| argument.schema["type"] == *kind)
        })
    };
    match contract.as_ref().and_then(|contract| contract.tools().iter().find(easy)) {
        Some(tool) => format!("call {}{}", text(tool, "name"), sample_arguments(tool)),
        None => "tools".to_owned(),
    }
}

/// The README. `about` is the example's own, under the new name.
pub(super) fn readme(name: &str, commands: &[(String, &str)], example: &Example, about: Option<&str>) -> String {
    let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let lines: Vec<_> = commands.iter().map(|(command, what)| format!("{command:width$}  # {what}\n")).collect();
    let lines = lines.concat();
    let summary = example.summary();
    let about = match about {
        Some(about) => format!("\n## About\n\n{}", own_text(about, &summary)),
        None => String::new(),
    };
    format!(
        "# {name}\n\n{summary}.\n\n```sh\n{lines}```\n\n[AGENTS.md](AGENTS.md) has the API of the framework on one \
         page. The code is that of the example `{}`.\n{about}",
        example.name
    )
}

/// An example's README without its title and its summary, and without what is true only in the repository: how to copy
/// the folder.
fn own_text(readme: &str, summary: &str) -> String {
    let mut paragraphs: Vec<&str> = readme.trim_end().split("\n\n").collect();
    paragraphs.retain(|text| !text.starts_with("# ") && !text.contains("Copy the folder"));
    let first = paragraphs.first().map(|first| first.replace('\n', " ")).unwrap_or_default();
    match first.strip_prefix(summary).map(|rest| rest.trim_start_matches('.').trim_start()) {
        Some("") => drop(paragraphs.remove(0)),
        Some(rest) => paragraphs[0] = rest,
        None => {}
    }
    let is_empty_section = |at: usize| {
        let next = paragraphs.get(at + 1);
        paragraphs[at].starts_with("## ") && next.is_none_or(|next| next.starts_with("## "))
    };
    let kept = (0..paragraphs.len()).filter(|at| !is_empty_section(*at)).map(|at| paragraphs[at]);
    // one level down, below "About"
    let mut text = kept.map(|text| if text.starts_with("## ") { format!("#{text}") } else { text.to_owned() });
    let first = text.next().unwrap_or_default();
    text.fold(first, |all, next| all + "\n\n" + &next) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_about_the_repository_are_left_out() {
        let readme = "# notes\n\nA notebook.\nRead it.\n\n## Copy it\n\nCopy the folder, and edit it.\n\n## Run it\n\n```sh\nx\n```\n";
        assert_eq!(own_text(readme, "A notebook"), "Read it.\n\n### Run it\n\n```sh\nx\n```\n");
    }

    #[test]
    fn commands_are_those_the_binary_has() {
        let starter = Example::named("starter").ok().unwrap();
        let commands = |command_line, http| {
            let commands = Features { command_line, http }.commands(starter).into_iter();
            commands.map(|(command, _)| command).collect::<Vec<_>>()
        };
        assert_eq!(
            commands(true, false),
            ["cargo run -- call add a=2 b=3", "cargo mcp dev", "cargo run -- install cursor"]
        );
        assert!(commands(true, true).contains(&"cargo run -- --http 127.0.0.1:8080".to_owned()));
        assert_eq!(commands(false, false), ["cargo test", "cargo run", "cargo mcp dev"]);
    }
}
