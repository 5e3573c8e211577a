//! `cargo mcp new`: a new server from an example, complete with tests, a contract, a README and an AGENTS.md.

mod dependency;
mod example;
mod folder;
mod readme;
mod rename;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::ValueExt as _;
use mcp_runtime::cli::terminal::Terminal;

use self::dependency::Source;
use self::example::{DEFAULT, Example};
use self::folder::NewFolder;
use self::readme::Features;
use self::rename::Renaming;
use crate::failure::Failure;

const HELP: &str = "\
Create an MCP server from an example.

Usage: cargo mcp new [OPTIONS] NAME

Arguments:
  NAME             the name of the crate and of the server, or the path of its directory

Options:
  --from EXAMPLE   the example to copy; without it, a terminal asks, and `starter` is copied elsewhere
  --list           list the examples
  --http           add the feature `http`: the binary then has `--http [ADDR]`
  --path CHECKOUT  depend on a checkout of mcp-runtime; the default inside of one, and for a `cargo mcp` built from one
  --published      depend on the published version instead
  -h, --help       show this page
";

/// The API on one page, for coding agents. The Rust blocks are doctests of the tests' support library.
const AGENTS: &str = include_str!("../../template/AGENTS.md");
const CI: &str = include_str!("../../template/ci.yml");

/// What the command line asks for.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
struct NewOptions {
    path: Option<PathBuf>,
    from: Option<String>,
    checkout: Option<PathBuf>,
    published: bool,
    http: bool,
    list: bool,
    help: bool,
}

impl NewOptions {
    fn parse(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let mut options = NewOptions::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                lexopt::Arg::Long("from") => options.from = Some(parser.value()?.string()?),
                lexopt::Arg::Long("path") => options.checkout = Some(parser.value()?.into()),
                lexopt::Arg::Long("published") => options.published = true,
                lexopt::Arg::Long("http") => options.http = true,
                lexopt::Arg::Long("list") => options.list = true,
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => options.help = true,
                lexopt::Arg::Value(path) if options.path.is_none() => options.path = Some(path.into()),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }
}

/// Runs `cargo mcp new`.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let options = NewOptions::parse(arguments)?;
    if options.help || options.list {
        let text = if options.help { HELP.to_owned() } else { example::table(Terminal::stdout(), false) };
        // a reader that has seen enough is no error
        let _ = io::stdout().write_all(text.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let path = options.path.ok_or(Failure::usage("which name? `cargo mcp new NAME`; `--help` shows the options"))?;
    let current = std::env::current_dir().map_err(Failure::new)?;
    let path = std::path::absolute(current.join(&path)).map_err(Failure::new)?;
    let name = name(&path)?;
    let source = Source::find(options.checkout, options.published, &current)?;
    let example = match options.from {
        Some(from) => Example::named(&from)?,
        None if io::stdin().is_terminal() && io::stderr().is_terminal() => choose()?,
        None => Example::named(DEFAULT)?,
    };
    let terminal = Terminal::stderr();
    let commands = create(&path, name, example, &source, options.http, terminal)?;
    let shown = path.strip_prefix(&current).unwrap_or(&path).display();
    eprintln!("{} MCP server `{name}` (from {})", terminal.green("     Created"), example.name);
    eprintln!("{} cd {shown}", terminal.green("        Next"));
    let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    for (command, what) in commands {
        let padding = " ".repeat(width - command.chars().count());
        eprintln!("             {}{padding}  {}", terminal.cyan(command), terminal.dim(what));
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of the crate: the last part of the path. Cargo checks the rest of what a name must be.
fn name(path: &Path) -> Result<&str, Failure> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or(Failure::usage("the path has no name in UTF-8; `cargo mcp new NAME` takes one"))?;
    if !name.is_ascii() {
        return Err(Failure::new(format!("`{name}` has letters outside of ASCII, which Rust has no crate names with")));
    }
    Ok(name)
}

/// Asks the person for an example, by number or name.
fn choose() -> Result<&'static Example, Failure> {
    let terminal = Terminal::stderr();
    eprintln!("{}\n{}", terminal.bold("Which example?"), example::table(terminal, true));
    loop {
        eprint!("Number or name [{DEFAULT}]: ");
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer).map_err(Failure::new)? == 0 {
            return Err(Failure::new("no example was chosen; `--from EXAMPLE` names one"));
        }
        let number = answer.trim().parse().ok().and_then(|number: usize| number.checked_sub(1));
        let chosen = match (answer.trim(), number.and_then(|at| Example::all().get(at).copied())) {
            ("", _) => Example::named(DEFAULT),
            (_, Some(example)) => Ok(example),
            (name, None) => Example::named(name),
        };
        match chosen {
            Ok(example) => return Ok(example),
            Err(failure) => drop(failure.report(terminal)),
        }
    }
}

/// Writes the crate, and returns the next commands.
fn create(
    path: &Path,
    name: &str,
    example: &'static Example,
    source: &Source,
    http: bool,
    terminal: Terminal,
) -> Result<Vec<(String, &'static str)>, Failure> {
    let manifest = dependency::manifest(example, name, source, path, http)?;
    let module = rename::module(name);
    if dependency::dependencies(&manifest).contains(&module) || ["std", "core", "alloc"].contains(&name) {
        return Err(Failure::new(format!("the server itself needs a crate `{name}`; choose another name")));
    }
    let features = Features { command_line: dependency::has_command_line(&manifest), http };
    let commands = features.commands(example);
    let renaming = Renaming::new(example, name);
    let folder = NewFolder::create(path, name)?.fill(|folder| {
        for (path, contents) in example.files {
            match std::str::from_utf8(contents) {
                _ if ["Cargo.toml", "README.md"].contains(path) => {}
                Ok(text) => folder.write(path, renaming.apply(path, text).as_bytes())?,
                Err(_) => folder.write(path, contents)?,
            }
        }
        let about = example.text("README.md").map(|about| renaming.apply("README.md", about));
        folder.write("Cargo.toml", manifest.to_string().as_bytes())?;
        folder.write("README.md", readme::readme(name, &commands, example, about.as_deref()).as_bytes())?;
        folder.write("AGENTS.md", agents(&features).as_bytes())?;
        folder.write(".github/workflows/ci.yml", ci(source).as_bytes())?;
        folder.write(".gitignore", b"/target\n")
    })?;
    folder.format();
    if let Some(workspace) = folder.joined() {
        let shown = workspace.display();
        eprintln!("{} `{name}` to the members of the workspace in {shown}", terminal.green("      Adding"));
    }
    Ok(commands)
}

/// AGENTS.md, with the commands that this binary has.
fn agents(features: &Features) -> String {
    let lines = AGENTS.lines().filter(|line| features.command_line || !line.starts_with("cargo run -- "));
    lines.fold(String::new(), |page, line| page + line + "\n")
}

/// The CI file. It says what to do about a dependency that exists on this machine only.
fn ci(source: &Source) -> String {
    match source {
        Source::Published => CI.to_owned(),
        Source::Checkout(_) => format!(
            "# mcp-runtime is a path in Cargo.toml, which CI does not have: name a version or a git repository there.\n{CI}"
        ),
    }
}
