//! [`Stage`]: copies of the executables that run, because cargo writes over the original while they do. Windows would
//! not let it, and elsewhere a server that has to be started again could meet a half-written file.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The versions whose files are kept: more than finish calls at the same time.
const KEPT: usize = 8;

/// A directory of this process, below the target directory.
#[derive(Debug)]
pub(crate) struct Stage {
    directory: PathBuf,
    /// Locked while this process lives, so that the next one can tell what was left behind by a killed one.
    _lock: File,
    versions: VecDeque<PathBuf>,
    counter: u64,
}

impl Stage {
    pub(crate) fn new(target_directory: &Path) -> io::Result<Self> {
        let all = target_directory.join("mcp-dev");
        let directory = all.join(std::process::id().to_string());
        remove_abandoned(&all);
        fs::create_dir_all(&directory)?;
        let lock = File::create(directory.join("lock"))?;
        // Where files cannot be locked, directories of killed processes stay.
        lock.try_lock().ok();
        Ok(Stage { directory, _lock: lock, versions: VecDeque::new(), counter: 0 })
    }

    /// Copies an executable; it keeps its name.
    pub(crate) fn add(&mut self, executable: &Path) -> io::Result<PathBuf> {
        self.counter += 1;
        let version = self.directory.join(self.counter.to_string());
        fs::create_dir_all(&version)?;
        let copy = version.join(executable.file_name().unwrap_or("server".as_ref()));
        fs::copy(executable, &copy)?;
        self.versions.push_back(version);
        if self.versions.len() > KEPT {
            self.versions.pop_front().map(fs::remove_dir_all);
        }
        Ok(copy)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// Removes what killed processes left behind.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let free = File::open(entry.path().join("lock")).is_ok_and(|lock| lock.try_lock().is_ok());
        if free {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}
