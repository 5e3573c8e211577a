//! Lists directories, for people who type a path and for models.

use std::fs;
use std::io::Result;

use schemars::JsonSchema;
use serde::Serialize;

use crate::content::uri;
use crate::roots::Roots;

/// The maximum number of entries that are listed.
const MAX_ENTRIES: usize = 1000;

/// A directory.
#[derive(Serialize, JsonSchema)]
pub struct Listing {
    entries: Vec<Entry>,
    /// Whether there are more entries than these.
    truncated: bool,
}

/// An entry of a directory.
#[derive(Serialize, JsonSchema)]
pub struct Entry {
    path: String,
    kind: Kind,
    /// The size of a file in bytes; 0 for others.
    size: u64,
    /// Where to read a file as a resource, and to subscribe to its changes.
    uri: String,
}

#[derive(Serialize, JsonSchema, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
    Link,
    Other,
}

impl Entry {
    fn new(path: String, kind: Kind, size: u64) -> Self {
        Entry { uri: uri(&path), path, kind, size }
    }
}

/// What is in a directory; without a path, the served directories.
pub fn list(roots: &Roots, path: Option<&str>) -> Result<Listing> {
    let mut entries = path.map_or_else(|| Ok(top(roots)), |path| children(roots, path))?;
    let truncated = entries.len() > MAX_ENTRIES;
    entries.truncate(MAX_ENTRIES);
    Ok(Listing { entries, truncated })
}

/// The paths that begin with the typed text, one directory at a time: `docs/gu` finds `docs/guide.md`.
pub fn complete(roots: &Roots, typed: &str) -> Vec<String> {
    let entries = match typed.rsplit_once('/') {
        None => top(roots),
        // A failure gives none: completion is best effort.
        Some((directory, _)) => children(roots, directory).unwrap_or_default(),
    };
    let entries = entries.into_iter().filter(|entry| entry.path.starts_with(typed));
    entries.map(|entry| if entry.kind == Kind::Directory { entry.path + "/" } else { entry.path }).collect()
}

fn top(roots: &Roots) -> Vec<Entry> {
    roots.iter().map(|(name, _)| Entry::new(name.to_owned(), Kind::Directory, 0)).collect()
}

fn children(roots: &Roots, path: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(roots.find(path)?)? {
        let entry = entry?;
        // A name that is not Unicode cannot be sent. An entry without metadata is gone.
        let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let (kind, size) = match metadata.file_type() {
            kind if kind.is_file() => (Kind::File, metadata.len()),
            kind if kind.is_dir() => (Kind::Directory, 0),
            kind if kind.is_symlink() => (Kind::Link, 0),
            _ => (Kind::Other, 0),
        };
        entries.push(Entry::new(format!("{}/{name}", path.trim_end_matches('/')), kind, size));
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}
