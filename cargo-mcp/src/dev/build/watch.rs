//! [`Watch`]: waits for a source to change. The target directory, hidden files and what git ignores are not sources.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{timeout, timeout_at};

use super::cargo::Project;

/// Editors write a file in several steps; a formatter follows. A change is over when it is quiet this long.
const QUIET: Duration = Duration::from_millis(50);
/// A change is over after this long, however busy it is.
const BUSY: Duration = Duration::from_secs(1);
/// Events that wait: when there are more, there is a change to see in any case.
const EVENTS: usize = 1_024;
/// How long git may take to say what it ignores.
const GIT: Duration = Duration::from_secs(5);

/// A change of the sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// When the first file of it was saved.
    pub(crate) at: Instant,
    /// Whether a `Cargo.toml` is among them.
    pub(crate) manifest: bool,
}

#[derive(Debug)]
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    events: mpsc::Receiver<(Instant, PathBuf)>,
    roots: BTreeSet<PathBuf>,
    workspace: PathBuf,
    target_directory: PathBuf,
}

impl Watch {
    pub(crate) fn new(project: &Project) -> notify::Result<Self> {
        let (sender, events) = mpsc::channel(EVENTS);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if is_write(event.kind) {
                for path in event.paths {
                    sender.try_send((Instant::now(), path)).ok();
                }
            }
        })?;
        let mut watch = Watch {
            watcher,
            events,
            roots: BTreeSet::new(),
            workspace: canonical(&project.workspace),
            target_directory: canonical(&project.target_directory),
        };
        watch.extend(project)?;
        Ok(watch)
    }

    /// Watches the directories of a project that are not watched yet.
    pub(crate) fn extend(&mut self, project: &Project) -> notify::Result<()> {
        for source in project.sources.iter().map(|source| canonical(source)) {
            if self.roots.insert(source.clone()) {
                self.watcher.watch(&source, RecursiveMode::NonRecursive)?;
                for entry in std::fs::read_dir(&source).into_iter().flatten().flatten() {
                    self.watch_directory(&entry.path())?;
                }
            }
        }
        if !self.roots.contains(&self.workspace) {
            self.watcher.watch(&self.workspace, RecursiveMode::NonRecursive)?;
        }
        Ok(())
    }

    /// Watches a directory of a package. A target directory has thousands of others, so it is not watched at all.
    fn watch_directory(&mut self, path: &Path) -> notify::Result<()> {
        let is_cache = path.join("CACHEDIR.TAG").exists() || path == self.target_directory;
        if !path.is_dir() || is_cache || is_hidden(path) || path.file_name() == Some(OsStr::new("node_modules")) {
            return Ok(());
        }
        self.watcher.watch(path, RecursiveMode::Recursive)
    }

    /// Waits for a change, and until it is complete.
    pub(crate) async fn changed(&mut self) -> Change {
        loop {
            let Some((at, path)) = self.events.recv().await else { return std::future::pending().await };
            let mut paths = BTreeSet::from([path]);
            let end = tokio::time::Instant::now() + BUSY;
            while let Ok(Ok(Some((_, path)))) = timeout_at(end, timeout(QUIET, self.events.recv())).await {
                paths.insert(path);
            }
            for path in &paths {
                // One that cannot be watched was removed again.
                if path.parent().is_some_and(|parent| self.roots.contains(parent)) {
                    self.watch_directory(path).ok();
                }
            }
            paths.retain(|path| self.is_source(path));
            for path in self.ignored_by_git(&paths).await {
                paths.remove(&path);
            }
            if !paths.is_empty() {
                let manifest = paths.iter().any(|path| path.file_name() == Some(OsStr::new("Cargo.toml")));
                return Change { at, manifest };
            }
        }
    }

    fn is_source(&self, path: &Path) -> bool {
        if path.starts_with(&self.target_directory) {
            return false;
        }
        let root = self.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        match root {
            Some(root) => !path.strip_prefix(root).is_ok_and(|inside| inside.components().any(is_hidden_component)),
            // The directory of the workspace is watched for what changes every build.
            None => {
                let names = ["Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];
                path.parent() == Some(&self.workspace)
                    && path.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(&name))
            }
        }
    }

    /// Git knows its own rules best; without git, nothing is ignored.
    async fn ignored_by_git(&self, paths: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let ask = async {
            let mut git = Command::new("git");
            git.arg("-C").arg(&self.workspace).args(["check-ignore", "--stdin", "-z"]);
            git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
            let mut git = git.spawn().ok()?;
            let lines: Vec<&[u8]> = paths.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect();
            git.stdin.take()?.write_all(&lines.join(&0)).await.ok()?;
            git.wait_with_output().await.ok()
        };
        let Ok(Some(output)) = timeout(GIT, ask).await else { return Vec::new() };
        let ignored: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        let is_ignored = |path: &&PathBuf| ignored.contains(&path.as_os_str().as_encoded_bytes());
        paths.iter().filter(is_ignored).cloned().collect()
    }
}

/// Events name files by their real path on some operating systems.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reading a file is an event, too.
fn is_write(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Other | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => true,
    }
}

fn is_hidden(path: &Path) -> bool {
    path.components().next_back().is_some_and(is_hidden_component)
}

/// Hidden files, and those that editors write beside a file.
fn is_hidden_component(component: Component<'_>) -> bool {
    let name = component.as_os_str().as_encoded_bytes();
    name.starts_with(b".") || name.ends_with(b"~") || name == b"4913"
}
