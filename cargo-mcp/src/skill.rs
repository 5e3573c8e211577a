//! `cargo mcp skill`: a SKILL.md that teaches an agent to use a server from a shell, made from its contract.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use lexopt::ValueExt as _;
use mcp_runtime::cli::terminal::Terminal;
use serde_json::{Value, json};

use crate::contract::{self, ArgumentInfo, Contract, first_line, prompt_arguments, text, tool_arguments};
use crate::failure::Failure;
use crate::package::{Build, Package};

const HELP: &str = "\
Write a SKILL.md that teaches an agent to use the server from a shell.

Usage: cargo mcp skill [OPTIONS]

Options:
  -p, --package NAME  the package of the server; the one in the current directory if omitted
  --bin NAME          its binary, if there are several
  --command NAME      what to type in a shell; the name of the binary if omitted
  --out PATH          the file; skills/NAME/SKILL.md in the package if omitted; `-` prints it
  --force             replace a file that this command has not written
  -h, --help          show this page
";

/// In every file that this command writes, and may therefore replace.
const MARK: &str = "<!-- Written by `cargo mcp skill`. Run it again when the server changes. -->";

/// The most that a description of a skill may have.
const DESCRIPTION: usize = 1024;
/// The most that the name of a skill may have.
const NAME: usize = 64;

/// What the command line asks for.
#[derive(Default)]
struct SkillOptions {
    package: Option<String>,
    binary: Option<String>,
    command: Option<String>,
    out: Option<PathBuf>,
    force: bool,
    help: bool,
}

impl SkillOptions {
    fn parse(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let mut options = SkillOptions::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                lexopt::Arg::Long("package") | lexopt::Arg::Short('p') => {
                    options.package = Some(parser.value()?.string()?);
                }
                lexopt::Arg::Long("bin") => options.binary = Some(parser.value()?.string()?),
                lexopt::Arg::Long("command") => options.command = Some(parser.value()?.string()?),
                lexopt::Arg::Long("out") => options.out = Some(parser.value()?.into()),
                lexopt::Arg::Long("force") => options.force = true,
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => options.help = true,
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }
}

/// Runs `cargo mcp skill`.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let options = SkillOptions::parse(arguments)?;
    if options.help {
        let _ = io::stdout().write_all(HELP.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let package = Package::find(options.package.as_deref(), options.binary.as_deref())?;
    if !package.has_command_line() {
        return Err(Failure::new(format!(
            "`{}` is not a command line: run it with `Server::run`, and add the feature `cli` of mcp-runtime",
            package.name()
        )));
    }
    let contract = package.contract(&Build { release: false, target: None })?;
    let command = options.command.as_deref().unwrap_or(&package.binary);
    let skill = skill(&contract, command, package.text("description"));
    if options.out.as_deref() == Some(Path::new("-")) {
        let _ = io::stdout().write_all(skill.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let default = || package.folder.join("skills").join(skill_name(contract.name())).join("SKILL.md");
    let path = options.out.unwrap_or_else(default);
    write(&path, &skill, options.force)?;
    let shown = env::current_dir().ok().and_then(|current| path.strip_prefix(current).ok().map(Path::to_owned));
    eprintln!("{} {}", Terminal::stderr().green("       Wrote"), shown.as_deref().unwrap_or(&path).display());
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, skill: &str, force: bool) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let foreign = fs::read_to_string(path).is_ok_and(|text| !text.contains(MARK));
    if foreign && !force {
        let shown = path.display();
        return Err(Failure::new(format!("{shown} was not written by this command; `--force` replaces it")));
    }
    path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, skill)).map_err(failed)
}

/// The text of SKILL.md.
fn skill(contract: &Contract, command: &str, about: Option<&str>) -> String {
    let name = skill_name(contract.name());
    // a JSON string is a YAML string
    let description = json!(description(contract, command, about));
    let title = contract.title().unwrap_or(contract.name());
    let mut page = format!("---\nname: {name}\ndescription: {description}\n---\n\n{MARK}\n\n# {title}\n");
    for text in [about, contract.instructions()].into_iter().flatten() {
        let _ = writeln!(page, "\n{}", text.trim());
    }
    let _ = writeln!(
        page,
        "\nRun `{command}` in a shell. If it is not found, `cargo install --path .` in its repository installs it. \
         `{command} tools NAME` shows a tool in detail."
    );
    page += &section("Tools", contract.tools(), |tool| tool_text(tool, command));
    page += &section("Resources", contract.resources(), |resource| resource_text(resource, "uri", command));
    page += &section("Resource templates", contract.templates(), |resource| {
        resource_text(resource, "uriTemplate", command)
    });
    page += &section("Prompts", contract.prompts(), |prompt| prompt_text(prompt, command));
    page + &values(command)
}

fn section(heading: &str, items: &[Value], show: impl Fn(&Value) -> String) -> String {
    if items.is_empty() {
        return String::new();
    }
    format!("\n## {heading}\n{}", items.iter().map(show).collect::<String>())
}

fn tool_text(tool: &Value, command: &str) -> String {
    let name = text(tool, "name");
    let call = format!("{command} call {name}{}", contract::sample_arguments(tool));
    let mut page = format!("\n### {name}\n\n{}\n\n```sh\n{call}\n```\n", text(tool, "description").trim());
    page += &list(&tool_arguments(tool), |argument| contract::value_text(tool, argument.schema));
    let hint = |name: &str| tool["annotations"][name] == true;
    if hint("readOnlyHint") {
        page += "\nChanges nothing.\n";
    } else if hint("destructiveHint") {
        page += "\nDestructive: ask the user before you run it.\n";
    }
    if tool.get("outputSchema").is_some() {
        page += "\nPrints JSON.\n";
    }
    page
}

fn resource_text(resource: &Value, member: &str, command: &str) -> String {
    let uri = text(resource, member);
    let kind = resource["mimeType"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let about = first_line(resource);
    let about = if about.is_empty() { text(resource, "name") } else { about };
    format!("\n- `{command} read '{uri}'`{kind}: {about}\n").replace("\n\n", "\n")
}

fn prompt_text(prompt: &Value, command: &str) -> String {
    let name = text(prompt, "name");
    let arguments = prompt_arguments(prompt);
    let required = arguments.iter().filter(|argument| argument.required);
    let pairs = required.map(|argument| format!(" {}=…", argument.name)).collect::<Vec<_>>().concat();
    let about = text(prompt, "description").trim();
    let page = format!("\n### {name}\n\n{about}\n\n```sh\n{command} get {name}{pairs}\n```\n");
    page + &list(&arguments, |_| "text".to_owned())
}

fn list(arguments: &[ArgumentInfo<'_>], kind: impl Fn(&ArgumentInfo<'_>) -> String) -> String {
    let line = |argument: &ArgumentInfo<'_>| {
        let (name, required) = (argument.name, if argument.required { "required" } else { "optional" });
        let about: Vec<&str> = argument.description.split_whitespace().collect();
        let about = if about.is_empty() { String::new() } else { format!(": {}", about.join(" ")) };
        format!("- `{name}` ({required}; {}){about}\n", kind(argument))
    };
    let lines: String = arguments.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn values(command: &str) -> String {
    format!(
        "
## Values and results

- `key=value` follows the type of the argument. Lists: `tags=x tags=y`. Nested: `place.city=Rome`. Files: `text=@file`.
  All at once: `--json '{{\"a\": 2}}'`.
- Results go to standard output, errors and progress to standard error. `--quiet` leaves progress out.
- A tool that asks the user asks in the terminal. Without one: `--answer key=value`, or `--answer decline`.
- Exit codes: 0 success; 1 the tool reports an error, which says what to change; 2 the command line is wrong, or names
  what there is not (`{command} --help`); 3 the server cannot be reached, or does not answer in time.
"
    )
}

/// A name that agents accept: letters in lower case, digits and hyphens.
fn skill_name(server: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let words: String = server.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(NAME);
    if name.is_empty() { "mcp-server".to_owned() } else { name.trim_end_matches('-').to_owned() }
}

/// What decides whether an agent reads the skill: what it is about, and what each tool does.
fn description(contract: &Contract, command: &str, about: Option<&str>) -> String {
    let about = about.map(|about| format!("{}. ", about.trim_end_matches('.'))).unwrap_or_default();
    let tools: Vec<String> = contract
        .tools()
        .iter()
        .map(|tool| match first_line(tool).trim_end_matches('.') {
            "" => text(tool, "name").to_owned(),
            line => format!("{} ({line})", text(tool, "name")),
        })
        .collect();
    let wanted = if tools.is_empty() { "its resources or prompts".to_owned() } else { tools.join(", ") };
    let all = format!("{about}Use when you need one of these, as the command `{command}` in a shell: {wanted}.");
    match all.char_indices().nth(DESCRIPTION - 1) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starter() -> Contract {
        Contract::parse(include_str!("../../examples/starter/contract.json")).ok().unwrap()
    }

    #[test]
    fn every_tool_is_an_exact_command() {
        let skill = skill(&starter(), "demo", Some("Adds and counts."));
        assert!(
            skill.starts_with("---\nname: starter\ndescription: \"Adds and counts. Use when you need one of these"),
            "{skill}"
        );
        for line in [
            "demo call add a=2 b=3",
            "- `a` (required; integer): The first number.",
            "demo call count_words text=hello",
            "- `word` (optional; string): Count only this word, in any case. If omitted, every word counts.",
            "- `demo read 'guide://style'` (text/markdown): The rules for texts, which `review` refers to.",
            "demo get review text=…",
            "- `suggestions` (optional; text): The maximum number of suggestions.",
            "Changes nothing.",
        ] {
            assert!(skill.lines().any(|shown| shown == line), "{line} is missing in\n{skill}");
        }
    }

    #[test]
    fn names_are_what_agents_accept() {
        assert_eq!(skill_name("My_Server.v2"), "my-server-v2");
        assert_eq!(skill_name("天气"), "mcp-server");
        assert_eq!(skill_name(&"x-".repeat(80)).len(), 63);
    }

    #[test]
    fn long_descriptions_are_cut() {
        let tools: Vec<Value> =
            (0..99).map(|at| json!({"name": format!("tool_{at}"), "description": "Äh, does it."})).collect();
        let contract = json!({"server": {"name": "s"}, "tools": tools}).to_string();
        let text = description(&Contract::parse(&contract).ok().unwrap(), "s", None);
        assert_eq!(text.chars().count(), DESCRIPTION);
        assert!(text.ends_with('…'));
    }

    #[test]
    fn other_files_are_not_replaced() {
        let path = env::temp_dir().join(format!("cargo-mcp-skill-{}.md", std::process::id()));
        fs::write(&path, "mine").unwrap();
        assert!(write(&path, MARK, false).is_err());
        assert!(write(&path, MARK, true).is_ok());
        assert!(write(&path, MARK, false).is_ok(), "it is this command's own now");
        fs::remove_file(path).unwrap();
    }
}
