//! `install` and `uninstall`, on machines made of a temporary directory.

mod configured;
mod editing;
mod entries;
mod files;
mod listing;
mod options;
#[cfg(unix)]
mod own_commands;
mod paths;
mod printing;
mod properties;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::cli::CliError;
use mcp_runtime::cli::install::{self, InstallCommand, Machine, OperatingSystem, Program};
use mcp_runtime::cli::terminal::Terminal;

/// A home, a project, and a server called `weather`; gone at the end of the test.
pub(crate) struct Place {
    root: PathBuf,
    pub(crate) machine: Machine,
}

impl Place {
    pub(crate) fn new(system: OperatingSystem) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("install-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // With a drive, where there are drives.
        let root = std::path::absolute(env!("CARGO_TARGET_TMPDIR")).unwrap().join(name);
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        Place { machine: Machine::new(system, home, project), root }
    }

    pub(crate) fn linux() -> Self {
        Place::new(OperatingSystem::Linux)
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.machine = self.machine.clone().with_env(name, value);
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a program. A shell does it: while a descriptor of this process can write to the file, a child that
    /// another test is starting has a copy of it, and until its `exec` the program is busy (ETXTBSY).
    #[cfg(unix)]
    pub(crate) fn write_script(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"printf %s "$1" > "$0" && chmod 755 "$0""#]);
        assert!(shell.arg(path).arg(text).status().unwrap().success());
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in a directory.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn run(&self, command: InstallCommand, line: &str) -> Result<String, CliError> {
        let program = Program::new("weather", "/opt/weather/bin/weather");
        self.run_program(&program, command, line)
    }

    pub(crate) fn run_program(
        &self,
        program: &Program,
        command: InstallCommand,
        line: &str,
    ) -> Result<String, CliError> {
        let arguments = line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
        let mut out = Vec::new();
        install::run(command, arguments, program, &self.machine, &mut out, Terminal::plain())?;
        Ok(String::from_utf8(out).unwrap())
    }

    pub(crate) fn install(&self, line: &str) -> String {
        self.run(InstallCommand::Install, line).unwrap_or_else(|error| panic!("install {line}: {error}"))
    }

    pub(crate) fn uninstall(&self, line: &str) -> String {
        self.run(InstallCommand::Uninstall, line).unwrap_or_else(|error| panic!("uninstall {line}: {error}"))
    }

    pub(crate) fn refused(&self, line: &str) -> CliError {
        self.run(InstallCommand::Install, line).expect_err(line)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
