//! `install` and `uninstall`: what is done, in which order, and what the person is told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::Client;
use super::client::launch::Launch;
use super::client::own_command::Invocation;
use super::client::scope::Scope;
use super::difference;
use super::file::ConfigFile;
use super::machine::Machine;
use super::options::{Mode, Options, is_valid_letter};
use super::page::Page;
use super::program::Program;
use crate::cli::error::CliError;

/// A server, and the client whose configuration is changed.
pub(super) struct Target<'a> {
    client: &'static Client,
    scope: Scope,
    path: PathBuf,
    name: String,
    options: &'a Options,
    machine: &'a Machine,
    /// Whether the client was on the machine before.
    found: bool,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        client: &'static Client,
        options: &'a Options,
        program: &Program,
        machine: &'a Machine,
    ) -> Result<Self, CliError> {
        let name = options.name.clone().unwrap_or_else(|| default_name(program));
        let path = client.file(options.scope, machine).ok_or_else(|| {
            CliError::usage(format!(
                "{} has no configuration per project here: leave out `--scope {}`",
                client.title, options.scope
            ))
        })?;
        Ok(Target { client, scope: options.scope, path, name, options, machine, found: client.is_found(machine) })
    }

    pub(super) fn install(&self, program: &Program, page: &mut Page<'_>) -> Result<(), CliError> {
        let launch = launch(self.options, program, self.machine)?;
        let Some(fresh) = self.client.shape.entry(&self.name, &launch, self.scope) else {
            return Err(CliError::usage(format!(
                "{} has no remote servers in its file: add the URL in Settings → Connectors",
                self.client.title
            )));
        };
        if self.options.mode == Mode::Print {
            return self.print(&launch, &fresh, page);
        }
        let key = self.client.key(&self.name);
        let file = self.file()?;
        let asked = (self.name.as_str(), &launch, self.scope);
        if let Some(existing) = file.entry(&key) {
            let entry = self.client.shape.updated(existing, fresh, asked);
            if existing.as_object() == Some(&entry) {
                page.done("Unchanged", format_args!("{} is installed in {} already", self.name, self.client.title))?;
                page.detail("file", self.machine.short(file.path()))?;
                return Ok(());
            }
            // a client's command would replace the entry, or refuse to
            self.edit(&file, &file.with(&key, &entry)?, "Updated", page)?;
            return self.after_install(&launch, page);
        }
        let command = self.client.own_command.and_then(|own| own.add(&self.name, &launch, &fresh, self.scope));
        let Some(command) = self.runnable(command) else {
            self.edit(&file, &file.with(&key, &fresh)?, "Installed", page)?;
            return self.after_install(&launch, page);
        };
        if self.run(&command, page)? {
            let file = self.file()?;
            match file.entry(&key) {
                Some(found) if Launch::read(found).as_ref() == Some(&launch) => self.done("Installed", page)?,
                // Gemini CLI cuts off values at `=`
                Some(found) => {
                    let entry = self.client.shape.updated(found, fresh, asked);
                    self.edit(&file, &file.with(&key, &entry)?, "Installed", page)?;
                }
                None => {
                    self.done("Installed", page)?;
                    let path = self.machine.short(file.path());
                    page.note(format_args!("there is no entry in {path}: if the client has none, add `--edit`"))?;
                }
            }
        }
        self.after_install(&launch, page)
    }

    pub(super) fn uninstall(&self, page: &mut Page<'_>) -> Result<(), CliError> {
        let key = self.client.key(&self.name);
        let file = self.file()?;
        if file.entry(&key).is_none() {
            let names: Vec<&str> = file.entries().map(|(name, _)| name.as_str()).collect();
            let names = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
            let path = self.machine.short(file.path());
            return Err(CliError::failed(format!(
                "{key} is not installed in {}{names}\nfile: {path}; another name or scope: `--name`, `--scope`",
                self.client.title
            )));
        }
        let command = self.client.own_command.and_then(|own| own.remove(&self.name, self.scope));
        let Some(command) = self.runnable(command) else {
            return self.edit(&file, &file.without(&key)?, "Uninstalled", page);
        };
        if self.run(&command, page)? {
            let file = self.file()?;
            // Gemini CLI removes nothing in folders that it does not trust, and reports success
            match file.entry(&key) {
                Some(_) => self.edit(&file, &file.without(&key)?, "Uninstalled", page)?,
                None => self.done("Uninstalled", page)?,
            }
        }
        Ok(())
    }

    fn file(&self) -> Result<ConfigFile, CliError> {
        ConfigFile::read(self.client, self.scope, self.path.clone())
    }

    /// The client's command, if it is on this machine and wanted.
    fn runnable(&self, command: Option<Invocation>) -> Option<Invocation> {
        command.filter(|_| !self.options.edit)?.found(self.machine)
    }

    /// Runs the client's command. False: it was only shown.
    fn run(&self, command: &Invocation, page: &mut Page<'_>) -> Result<bool, CliError> {
        let dry = self.options.mode == Mode::DryRun;
        page.done(if dry { "Would run" } else { "Running" }, command.line(self.machine))?;
        if !dry {
            command.run(self.machine).map_err(|error| {
                let path = self.machine.short(&self.path);
                CliError::failed(format!("{error}\n`--edit` edits {path} instead"))
            })?;
        }
        Ok(!dry)
    }

    /// Replaces the text of the file, or shows the difference.
    fn edit(&self, file: &ConfigFile, text: &str, verb: &str, page: &mut Page<'_>) -> Result<(), CliError> {
        if self.options.mode == Mode::DryRun {
            let verb = if file.exists() { "Would edit" } else { "Would create" };
            page.done(verb, self.machine.short(file.path()))?;
            difference::write(&mut page.out, page.terminal, file.text(), text)?;
            return Ok(());
        }
        let backup = file.write(text)?;
        self.done(verb, page)?;
        page.detail("file", self.machine.short(file.path()))?;
        if let Some(backup) = backup {
            page.detail("backup", self.machine.short(&backup))?;
        }
        Ok(())
    }

    fn done(&self, verb: &str, page: &mut Page<'_>) -> Result<(), CliError> {
        let preposition = if verb == "Uninstalled" { "from" } else { "in" };
        page.done(verb, format_args!("{} {preposition} {}", self.name, self.client.title))?;
        Ok(())
    }

    fn after_install(&self, launch: &Launch, page: &mut Page<'_>) -> Result<(), CliError> {
        if !self.found {
            page.note(format_args!("{} was not found on this machine", self.client.title))?;
        }
        if let Launch::Command { command, .. } = launch
            && is_build(Path::new(command))
        {
            page.note("`cargo clean` removes this build; to keep one: `cargo install --path .`")?;
        }
        if self.options.mode == Mode::Write {
            page.detail("next", self.client.next)?;
        }
        Ok(())
    }

    /// `--print`: everything that a person needs to install it by hand.
    fn print(&self, launch: &Launch, entry: &Map<String, Value>, page: &mut Page<'_>) -> Result<(), CliError> {
        let client = self.client;
        let text = client.format.set("", client.table, &client.key(&self.name), entry);
        let text = text.map_err(CliError::failed)?;
        page.section(format_args!("Entry, in {}", self.machine.short(&self.path)), text.trim_end())?;
        match client.link.map(|link| link.install(&self.name, launch, entry)) {
            Some(Ok(link)) => page.section("Link", link)?,
            Some(Err(reason)) => page.section("No link", reason)?,
            None => {}
        }
        if let Some(command) = client.own_command.and_then(|own| own.add(&self.name, launch, entry, self.scope)) {
            page.section("Command", command.line(self.machine))?;
        }
        page.section("Then", client.next)?;
        Ok(())
    }
}

/// How the client is to start the server.
fn launch(options: &Options, program: &Program, machine: &Machine) -> Result<Launch, CliError> {
    if let Some(url) = &options.http {
        return Ok(Launch::Http { url: url.clone(), headers: pairs(&options.headers) });
    }
    let (command, args) = if options.dev {
        development(program, machine, &[&program.arguments[..], &options.args].concat())?
    } else {
        (text(&program.path)?, [&program.arguments[..], &options.args].concat())
    };
    let mut env = options.env.clone();
    if options.dev {
        for (name, value) in toolchain(machine) {
            env.entry(name).or_insert(value);
        }
    }
    Ok(Launch::Command { command, args, env: pairs(&env), directory: None })
}

/// Where cargo and rustup are, if not where they are by default: clients do not pass these variables on.
fn toolchain(machine: &Machine) -> Vec<(String, String)> {
    let moved = |(name, usual): (&str, &str)| {
        let directory = machine.env_directory(name).filter(|directory| *directory != machine.home().join(usual))?;
        Some((name.to_owned(), directory.to_str()?.to_owned()))
    };
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")].into_iter().filter_map(moved).collect()
}

fn pairs(map: &BTreeMap<String, String>) -> Vec<(String, String)> {
    map.clone().into_iter().collect()
}

/// `cargo mcp dev`, which rebuilds the server without dropping the client.
fn development(program: &Program, machine: &Machine, arguments: &[String]) -> Result<(String, Vec<String>), CliError> {
    let (Some(package), Some(cargo)) = (machine.env("CARGO_MANIFEST_DIR"), machine.env("CARGO")) else {
        return Err(CliError::failed(
            "`--dev` needs the package of the server: run `cargo run -- install CLIENT --dev` in it",
        ));
    };
    let parent = program.path.parent().and_then(Path::file_name);
    if parent.is_some_and(|parent| parent == "examples") {
        return Err(CliError::failed("`--dev` starts a binary of a package, and this is an example of one"));
    }
    // Cargo itself is in a toolchain, and looks for `rustc` on PATH, which graphical clients do not have; rustup's
    // `cargo` finds both.
    let home = machine.env_directory("CARGO_HOME").unwrap_or_else(|| machine.home().join(".cargo"));
    let rustup = home.join("bin").join(format!("cargo{}", std::env::consts::EXE_SUFFIX));
    let cargo = if rustup.is_file() { rustup } else { PathBuf::from(cargo) };
    let binary = program.path.file_stem().map_or(Path::new(&program.name), Path::new);
    let manifest = text(&Path::new(package).join("Cargo.toml"))?;
    let mut words: Vec<String> = ["mcp", "dev", "--manifest-path"].map(str::to_owned).into();
    words.extend([manifest, "--bin".to_owned(), text(binary)?]);
    if !arguments.is_empty() {
        words.push("--".to_owned());
        words.extend_from_slice(arguments);
    }
    Ok((text(&cargo)?, words))
}

fn text(path: &Path) -> Result<String, CliError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| CliError::failed(format!("{} is not in Unicode, which clients' files are", path.display())))
}

/// The server's name, in the letters that every client takes.
pub(super) fn default_name(program: &Program) -> String {
    let name: String = program.name.chars().map(|letter| if is_valid_letter(letter) { letter } else { '-' }).collect();
    match name.trim_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// Whether the program is in cargo's target directory.
fn is_build(program: &Path) -> bool {
    let Some(profile) = program.parent() else { return false };
    profile.join(".fingerprint").is_dir() || profile.parent().is_some_and(|target| target.ends_with("target"))
}
