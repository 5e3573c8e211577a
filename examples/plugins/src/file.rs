//! The file: read, checked, and read again when it changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fmt, fs, thread};

use mcp_runtime::ServerHandle;
use mcp_runtime::prelude::*;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use serde::Deserialize;

use crate::plugin::{Flaw, Plugin, duplicate};

/// An editor writes in steps, and the steps in between are broken: a change counts after this time of silence.
const SILENCE: Duration = Duration::from_millis(100);

/// The plugins of a file, as they were when it was last read without a problem.
#[derive(Debug)]
pub struct Plugins {
    path: PathBuf,
    plugins: Vec<Plugin>,
}

/// What is wrong with the file.
#[derive(Debug)]
pub struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl Plugins {
    /// Reads a file.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, Problem> {
        let path = path.into();
        Ok(Plugins { plugins: read(&path)?, path })
    }

    /// The tools of all plugins.
    pub fn tools(&self) -> Vec<Tool> {
        tools(&self.plugins)
    }

    /// Reads the file when it changes, until the watcher is dropped, and changes the tools of the server to match it.
    /// A file with a problem changes nothing.
    pub fn watch(
        mut self,
        server: ServerHandle,
        report: impl Fn(Problem) + Send + 'static,
    ) -> notify::Result<RecommendedWatcher> {
        let path = self.path.canonicalize()?;
        let directory = path.parent().unwrap_or(&path).to_owned();
        let (sender, changes) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| !event.kind.is_access() && event.paths.contains(&path)) {
                let _ = sender.send(()); // the thread has ended: the server is gone
            }
        })?;
        // The directory: many editors put a new file in the place of the old one.
        watcher.watch(&directory, RecursiveMode::NonRecursive)?;
        thread::spawn(move || {
            while changes.recv().is_ok() {
                while changes.recv_timeout(SILENCE).is_ok() {}
                if let Err(problem) = self.reload(&server) {
                    report(problem);
                }
            }
        });
        Ok(watcher)
    }

    /// Removes and adds what is different. Tools that have not changed stay as they are.
    fn reload(&mut self, server: &ServerHandle) -> Result<(), Problem> {
        let (old, new) = (&self.plugins, read(&self.path)?);
        for gone in old.iter().filter(|plugin| !new.contains(plugin)) {
            server.tools().remove(gone.name.get_ref());
        }
        let added = tools(new.iter().filter(|plugin| !old.contains(plugin)));
        server.tools().add(added).map_err(|error| Problem(error.to_string()))?;
        self.plugins = new;
        Ok(())
    }
}

/// The tools of plugins that have been checked.
fn tools<'a>(plugins: impl IntoIterator<Item = &'a Plugin>) -> Vec<Tool> {
    plugins.into_iter().filter_map(|plugin| plugin.tool().ok()).collect()
}

fn read(path: &Path) -> Result<Vec<Plugin>, Problem> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| Problem(format!("cannot read {shown}: {error}")))?;
    parse(&text).map_err(|(at, what)| {
        let (line, column) = position(&text, at);
        Problem(format!("{shown}:{line}:{column}: {what}"))
    })
}

/// The plugins, or the first flaw.
fn parse(text: &str) -> Result<Vec<Plugin>, Flaw> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        tool: Vec<Plugin>,
    }
    let parsed = toml::from_str(text);
    let File { tool: plugins } =
        parsed.map_err(|error| (error.span().unwrap_or_default().start, error.message().to_owned()))?;
    plugins.iter().try_for_each(Plugin::check)?;
    if let Some(name) = duplicate(plugins.iter().map(|plugin| &plugin.name)) {
        return Err((name.span().start, format!("two tools are called `{}`", name.get_ref())));
    }
    Ok(plugins)
}

/// The line and the column of an offset, as editors count them: from 1, in characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
