//! Files in chosen directories: listed, read, searched, written and watched, and no path leads out of them.
//!
//! - `roots`: the directories. Resolves the paths of callers, and refuses those that lead out.
//! - `listing`, `search`: look into them.
//! - `content`: what a file is: text, an image, a blob.
//! - `watch`: announces changes to subscribers.

mod content;
mod listing;
mod roots;
mod search;
mod watch;

use std::io::ErrorKind;

use mcp_runtime::Json;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::ResourceContents;

use crate::content::{content, contents, uri};
use crate::listing::Listing;
pub use crate::roots::{MAX_BYTES, Roots};
use crate::search::{Hits, Search};
pub use crate::watch::watch;

struct Files {
    roots: Roots,
}

// Every handler is `blocking`: it runs on its own thread, because a disk may be slow.
#[handlers]
impl Files {
    /// List a directory, or the served directories.
    #[tool(title = "List a directory", read_only, blocking)]
    fn list(
        &self,
        /// A directory; all served directories, if not given.
        path: Option<String>,
    ) -> Result<Json<Listing>> {
        Ok(Json(listing::list(&self.roots, path.as_deref())?))
    }

    /// Read a file: text, an image, or another binary file. At most 1 MiB.
    #[tool(title = "Read a file", read_only, blocking)]
    fn read(
        &self,
        /// As `list` shows it: `docs/guide.md`.
        path: String,
    ) -> Result<Content> {
        Ok(content(&path, self.roots.read(&path)?))
    }

    /// Find the lines that contain a text, in a file or in all files below a directory.
    #[tool(title = "Search files", read_only, blocking, timeout = "30s")]
    fn search(
        &self,
        ctx: &Context,
        /// The text, as it is written: capitals matter, and nothing is a pattern.
        #[arg(min_length = 1)]
        text: String,
        /// A file or a directory.
        path: String,
        /// The maximum number of lines.
        #[arg(default = 100, min = 1, max = 1000)]
        limit: usize,
    ) -> Result<Json<Hits>> {
        let search = Search { roots: &self.roots, ctx, text: &text, limit };
        Ok(Json(search.below(&path, self.roots.find(&path)?)))
    }

    /// Write a text file, in a directory that exists. At most 1 MiB.
    #[tool(title = "Write a file", destructive, idempotent, blocking)]
    fn write(
        &self,
        /// As `list` shows it: `docs/guide.md`.
        path: String,
        /// The whole text of the file.
        text: String,
        /// Replace the file, if it exists.
        #[arg(default)]
        overwrite: bool,
    ) -> Result<String> {
        // `watch` announces the change, as it does those of other programs.
        let is_new = self.roots.write(&path, &text, overwrite)?;
        Ok(format!("{} {path}, to be read at {}", if is_new { "created" } else { "replaced" }, uri(&path)))
    }

    /// A file: text, or a blob.
    #[resource("files://{+path}", subscribe, blocking)]
    fn file(&self, #[arg(complete = Self::complete)] path: String) -> Result<Option<ResourceContents>> {
        match self.roots.read(&path) {
            Ok(bytes) => Ok(Some(contents(&path, bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::invalid_params(error.to_string())),
        }
    }

    async fn complete(&self, typed: &str) -> Vec<String> {
        let (roots, typed) = (self.roots.clone(), typed.to_owned());
        // A completion function has no `blocking`.
        tokio::task::spawn_blocking(move || listing::complete(&roots, &typed)).await.unwrap_or_default()
    }
}

/// A server for the files in these directories. [`watch`] announces their changes.
pub fn server(roots: Roots) -> Server {
    Server::new("files", env!("CARGO_PKG_VERSION"))
        .instructions("Paths begin with the name of a served directory: `list` without a path shows them.")
        .mount(Files { roots })
}
