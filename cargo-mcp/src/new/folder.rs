//! [`NewFolder`]: the folder of a new crate, begun by `cargo init`, and taken back if anything fails.
//!
//! Cargo checks the name, creates the repository and adds the crate to the workspace around it, as for `cargo new`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, io};

use crate::failure::Failure;

/// A folder that this process fills.
pub(super) struct NewFolder {
    path: PathBuf,
    /// The uppermost directory that was not there before; `None` if the folder itself was there, empty.
    created: Option<PathBuf>,
    /// The manifest of the workspace around the folder, and its text before.
    workspace: Option<(PathBuf, String)>,
}

impl NewFolder {
    /// Creates the folder with the files of `cargo init`.
    pub(super) fn create(path: &Path, name: &str) -> Result<Self, Failure> {
        refuse_existing(path)?;
        let created = path.ancestors().take_while(|ancestor| !ancestor.exists()).last().map(Path::to_owned);
        let parent = path.ancestors().skip(1).find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/"));
        let folder = NewFolder { path: path.to_owned(), created, workspace: workspace(parent) };
        let output = cargo(parent)
            .args(["init", "--quiet", "--bin", "--edition", "2024"])
            .arg(format!("--name={name}"))
            .arg("--")
            .arg(path)
            .output();
        match succeeded(output) {
            Ok(()) => Ok(folder),
            Err(failure) => {
                folder.take_back();
                Err(failure)
            }
        }
    }

    /// Runs `fill`; if it fails, what was created is removed again.
    pub(super) fn fill(self, fill: impl FnOnce(&Self) -> io::Result<()>) -> Result<Self, Failure> {
        match fill(&self) {
            Ok(()) => Ok(self),
            Err(error) => {
                let failure = format!("{error}; nothing was left in {}", self.path.display());
                self.take_back();
                Err(Failure::new(failure))
            }
        }
    }

    /// Writes a file below the folder.
    pub(super) fn write(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        let path = self.path.join(path);
        let told = |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()));
        fs::create_dir_all(path.parent().unwrap_or(&self.path)).map_err(told)?;
        fs::write(&path, contents).map_err(told)
    }

    /// Formats the sources: other names can mean other lines. Without rustfmt they stay as they are.
    pub(super) fn format(&self) {
        let _ = cargo(&self.path).arg("fmt").stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// The workspace that cargo has added the crate to.
    pub(super) fn joined(&self) -> Option<&Path> {
        let (manifest, before) = self.workspace.as_ref()?;
        fs::read_to_string(manifest).is_ok_and(|now| now != *before).then_some(manifest)
    }

    /// Removes what this process has created.
    fn take_back(&self) {
        if let Some(created) = &self.created {
            let _ = fs::remove_dir_all(created);
        } else {
            for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
        if let (Some(manifest), Some((_, before))) = (self.joined(), &self.workspace) {
            let _ = fs::write(manifest, before);
        }
    }
}

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(format!("{shown} is not empty; choose another name, or empty it first"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Failure::new(format!("{shown} is a file; choose another name")))
        }
        Err(error) => Err(Failure::new(format!("cannot look into {shown}: {error}"))),
    }
}

/// The manifest of the workspace that a crate below `folder` would be in, and its text.
fn workspace(folder: &Path) -> Option<(PathBuf, String)> {
    let output = cargo(folder).args(["locate-project", "--workspace", "--message-format", "plain"]).output().ok()?;
    let manifest = PathBuf::from(String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?.trim_end());
    let text = fs::read_to_string(&manifest).ok()?;
    Some((manifest, text))
}

fn succeeded(output: io::Result<Output>) -> Result<(), Failure> {
    let output = output.map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    // the lines after the first are about cargo's own options
    let told = String::from_utf8_lossy(&output.stderr);
    let error = told.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(told.trim());
    Err(Failure::new(error))
}

/// The cargo that runs this program, or the one on the path.
fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(folder);
    cargo
}
