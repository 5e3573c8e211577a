//! The served directories. Every path a caller sends is resolved here, and none leads out of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Component, Path, PathBuf};

/// The maximum size of a file that is read or written.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The served directories by their names: `docs` is `/home/ada/docs`. Callers write `docs/guide.md` and do not learn
/// where it is on this machine.
///
/// A path is checked, then opened. Between the two, another program on this machine could replace a directory by a
/// link. If that is a danger, open the files with the crate `cap-std`, which leaves no such gap.
#[derive(Debug, Clone)]
pub struct Roots(BTreeMap<String, PathBuf>);

impl Roots {
    /// Serves these directories.
    pub fn open(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self> {
        let mut roots = BTreeMap::new();
        for given in directories {
            let given = given.as_ref();
            let root = fs::canonicalize(given)
                .map_err(|error| Error::new(error.kind(), format!("cannot serve {}: {error}", given.display())))?;
            let name = root.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let name = name.ok_or_else(|| refused(format!("cannot serve {}: it has no name", root.display())))?;
            if !root.is_dir() {
                return Err(refused(format!("cannot serve {}: it is not a directory", root.display())));
            }
            if let Some(other) = roots.insert(name, root.clone()) {
                let both = format!("{} and {}", other.display(), root.display());
                return Err(refused(format!(
                    "{both} have the same name: serve the directory they are in, or rename one"
                )));
            }
        }
        if roots.is_empty() {
            return Err(refused(
                "no directory to serve: name one or more, as in `files --root /path/to/docs`".to_owned(),
            ));
        }
        Ok(Roots(roots))
    }

    /// The names callers use, and the directories.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.0.iter().map(|(name, root)| (&**name, &**root))
    }

    /// The file or directory at this path, which exists.
    pub fn find(&self, path: &str) -> Result<PathBuf> {
        self.inside(path, &self.join(path)?.canonicalize().map_err(|error| named(path, &error))?)
    }

    /// The bytes of a file.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let real = self.find(path)?;
        // Not a directory, and not a pipe, which would block.
        if !real.is_file() {
            return Err(refused(format!("{path} is not a file: `list` shows what is in a directory")));
        }
        let mut bytes = Vec::new();
        // Bounded while it is read: its size may change.
        File::open(real)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > MAX_BYTES {
            return Err(refused(format!("{path} is larger than {MAX_BYTES} bytes, the most that is read")));
        }
        Ok(bytes)
    }

    /// Writes a file, in a directory that exists. Returns whether the file is new.
    pub fn write(&self, path: &str, text: &str, overwrite: bool) -> Result<bool> {
        if text.len() > MAX_BYTES {
            return Err(refused(format!("the text is larger than {MAX_BYTES} bytes, the most that is written")));
        }
        let joined = self.join(path)?;
        let (Some(directory), Some(name)) = (joined.parent(), joined.file_name()) else {
            return Err(refused(format!("{path} has no file name")));
        };
        match joined.canonicalize() {
            Ok(real) => {
                let real = self.inside(path, &real)?;
                if !overwrite {
                    return Err(refused(format!("{path} exists: set `overwrite` to replace it")));
                }
                fs::write(real, text).map_err(|error| named(path, &error))?;
                Ok(false)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let missing = |_| Error::new(ErrorKind::NotFound, format!("the directory of {path:?} does not exist"));
                let directory = directory.canonicalize().map_err(missing)?;
                let target = self.inside(path, &directory)?.join(name);
                // `create_new` does not follow links. A link whose target does not exist could point anywhere.
                let new = File::options().write(true).create_new(true).open(target);
                new.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| named(path, &error))?;
                Ok(true)
            }
            Err(error) => Err(named(path, &error)),
        }
    }

    /// The paths callers use for a file, by its canonical path: several, if a served directory is inside of another.
    pub fn paths_of(&self, real: &Path) -> Vec<String> {
        let below = |(name, root): (&str, &Path)| {
            let mut path = name.to_owned();
            for part in real.strip_prefix(root).ok()? {
                path = format!("{path}/{}", part.to_str()?);
            }
            Some(path)
        };
        self.iter().filter_map(below).collect()
    }

    /// The path on this machine, before links are followed.
    fn join(&self, path: &str) -> Result<PathBuf> {
        let mut parts = Path::new(path).components();
        let root = match parts.next() {
            Some(Component::Normal(name)) => name.to_str().and_then(|name| self.0.get(name)),
            _ => None,
        };
        let Some(root) = root else {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let text =
                format!("{path:?} is not in a served directory: begin the path with one of {}", names.join(", "));
            return Err(refused(text));
        };
        if !parts.clone().all(|part| matches!(part, Component::Normal(_))) {
            return Err(refused(format!("{path:?} is refused: write the path without `..`")));
        }
        Ok(root.join(parts.as_path()))
    }

    /// The path, with all links followed, if it is in a served directory.
    fn inside(&self, path: &str, real: &Path) -> Result<PathBuf> {
        if self.0.values().any(|root| real.starts_with(root)) {
            return Ok(real.to_owned());
        }
        Err(refused(format!("{path:?} is refused: a link leads out of the served directories")))
    }
}

fn refused(text: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, text)
}

/// The error with the path as the caller wrote it.
fn named(path: &str, error: &Error) -> Error {
    let text = match error.kind() {
        ErrorKind::NotFound => format!("{path:?} does not exist: `list` shows what is in a directory"),
        ErrorKind::AlreadyExists => format!("{path:?} is a link to a file that does not exist: choose another name"),
        _ => format!("{path:?}: {error}"),
    };
    Error::new(error.kind(), text)
}
