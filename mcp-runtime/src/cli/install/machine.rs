//! [`Machine`]: the operating system, the directories and the programs that clients are looked for in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;

/// An operating system, as far as clients' files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatingSystem {
    /// Linux, and the other Unixes.
    Linux,
    /// macOS, where applications keep their files in `~/Library/Application Support`.
    MacOs,
    /// Windows, where applications keep their files in `%APPDATA%`.
    Windows,
}

/// The machine whose clients are configured: this one, or a temporary directory in a test.
#[derive(Debug, Clone)]
pub struct Machine {
    system: OperatingSystem,
    home: PathBuf,
    directory: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Machine {
    /// This machine, with the environment of this process.
    pub fn this() -> Result<Self, CliError> {
        let system = match std::env::consts::OS {
            "windows" => OperatingSystem::Windows,
            "macos" => OperatingSystem::MacOs,
            _ => OperatingSystem::Linux,
        };
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or_else(|| CliError::failed("there is no home directory: set HOME"))?;
        let directory = std::env::current_dir()
            .map_err(|error| CliError::failed(format!("the current directory cannot be read: {error}")))?;
        Ok(std::env::vars_os()
            .fold(Machine::new(system, home, directory), |machine, (name, value)| machine.with_env(name, value)))
    }

    /// A machine without environment variables, hence without programs.
    pub fn new(system: OperatingSystem, home: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Machine { system, home: home.into(), directory: directory.into(), environment: BTreeMap::new() }
    }

    /// Adds an environment variable.
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = self.variable(&name.into());
        self.environment.insert(name, value.into());
        self
    }

    /// The operating system.
    pub fn system(&self) -> OperatingSystem {
        self.system
    }

    /// The home directory of the user.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The current directory: the project of `--scope project`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// An environment variable, if it is set to anything.
    pub fn env(&self, name: &str) -> Option<&OsStr> {
        let value = self.environment.get(&self.variable(OsStr::new(name)))?;
        (!value.is_empty()).then_some(value)
    }

    /// The directory that an environment variable names, if it is absolute.
    pub(super) fn env_directory(&self, name: &str) -> Option<PathBuf> {
        self.env(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub(super) fn config(&self) -> PathBuf {
        self.env_directory("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    /// `%APPDATA%`.
    pub(super) fn roaming(&self) -> PathBuf {
        self.env_directory("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
    }

    /// `%LOCALAPPDATA%`.
    pub(super) fn local(&self) -> PathBuf {
        self.env_directory("LOCALAPPDATA").unwrap_or_else(|| self.home.join("AppData").join("Local"))
    }

    /// Where graphical programs keep their settings.
    pub(super) fn settings(&self) -> PathBuf {
        match self.system {
            OperatingSystem::Linux => self.config(),
            OperatingSystem::MacOs => self.home.join("Library").join("Application Support"),
            OperatingSystem::Windows => self.roaming(),
        }
    }

    /// Finds a program on `PATH`, as a shell does.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        let extensions = match self.system {
            OperatingSystem::Windows => {
                self.env("PATHEXT").unwrap_or(OsStr::new(".COM;.EXE;.BAT;.CMD")).to_string_lossy().into_owned()
            }
            _ => String::new(),
        };
        std::env::split_paths(self.env("PATH")?)
            .flat_map(|directory| {
                extensions
                    .split(';')
                    .map(move |extension| directory.join(format!("{program}{extension}")))
                    .collect::<Vec<_>>()
            })
            .find(|path| path.is_absolute() && is_executable(path))
    }

    /// A path as a person writes it: below the home directory it begins with `~`.
    pub fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if self.system != OperatingSystem::Windows => {
                let names = rest.iter().map(|name| name.to_string_lossy());
                names.fold("~".to_owned(), |path, name| path + "/" + &name)
            }
            _ => path.display().to_string(),
        }
    }

    /// Names of variables have no case on Windows.
    fn variable(&self, name: &OsStr) -> OsString {
        match self.system {
            OperatingSystem::Windows => name.to_ascii_uppercase(),
            _ => name.to_owned(),
        }
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// A canonical path without the prefix that Windows gives it (`\\?\`), which few programs understand.
pub fn plain_path(path: PathBuf) -> PathBuf {
    let Some(text) = path.to_str() else { return path };
    if let Some(share) = text.strip_prefix(r"\\?\UNC\") {
        return format!(r"\\{share}").into();
    }
    match text.strip_prefix(r"\\?\") {
        Some(plain) => plain.into(),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_of_canonical_windows_paths_is_removed() {
        assert_eq!(plain_path(r"\\?\C:\tools\weather.exe".into()), Path::new(r"C:\tools\weather.exe"));
        assert_eq!(plain_path(r"\\?\UNC\host\share\weather.exe".into()), Path::new(r"\\host\share\weather.exe"));
        assert_eq!(plain_path("/usr/bin/weather".into()), Path::new("/usr/bin/weather"));
    }
}
