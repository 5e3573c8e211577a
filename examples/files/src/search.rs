//! Finds lines in the files below a directory.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_runtime::Context;
use schemars::JsonSchema;
use serde::Serialize;

use crate::roots::Roots;

/// A line that contains the text.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    path: String,
    line: usize,
    text: String,
}

/// The result of a search.
#[derive(Serialize, JsonSchema, Default)]
pub struct Hits {
    hits: Vec<Hit>,
    /// The number of files that were not searched: too large, not text, or not readable.
    skipped: usize,
    /// Whether there may be more lines than `hits`.
    truncated: bool,
}

/// A line is cut after so many characters.
const LINE_LENGTH: usize = 500;

/// A search that is under way.
pub struct Search<'a> {
    pub roots: &'a Roots,
    pub ctx: &'a Context,
    pub text: &'a str,
    pub limit: usize,
}

impl Search<'_> {
    /// Searches a file, or the files below a directory. Links are not followed, so the search ends, and stays inside.
    pub fn below(&self, path: &str, real: PathBuf) -> Hits {
        let mut found = Hits::default();
        let mut left = vec![(path.to_owned(), real)];
        let mut searched = 0;
        while let Some((path, real)) = left.pop() {
            // A `blocking` handler is not dropped when its call is cancelled or times out: it has to look.
            if found.truncated || self.ctx.is_cancelled() {
                break;
            }
            if real.is_dir() {
                left.extend(children(&path, &real));
                continue;
            }
            self.file(&path, &mut found);
            searched += 1;
            self.ctx.try_progress(searched, None);
        }
        found
    }

    fn file(&self, path: &str, found: &mut Hits) {
        let Some(text) = self.roots.read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            found.skipped += 1;
            return;
        };
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.contains(self.text)) {
            if found.hits.len() == self.limit {
                found.truncated = true;
                return;
            }
            let text = line.chars().take(LINE_LENGTH).collect();
            found.hits.push(Hit { path: path.to_owned(), line: number, text });
        }
    }
}

/// What is in a directory, without links, the last first: it is popped from the end.
fn children(path: &str, real: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(real).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let entries = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    let mut children: Vec<_> = entries.map(|(name, real)| (format!("{path}/{name}"), real)).collect();
    children.sort_by(|a, b| b.cmp(a));
    children
}
