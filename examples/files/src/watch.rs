//! Announces changes of files to the clients that have subscribed to them.

use mcp_runtime::ServerHandle;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::content::uri;
use crate::roots::Roots;

/// Watches the served directories, until the watcher is dropped.
pub fn watch(roots: &Roots, server: ServerHandle) -> notify::Result<RecommendedWatcher> {
    let served = roots.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
        // Reading is no change: a client that reads what has changed would be told to read it again, forever.
        Ok(event) if event.kind.is_access() => {}
        Ok(event) => {
            for path in event.paths.iter().flat_map(|path| served.paths_of(path)) {
                server.resource_updated(uri(&path));
            }
        }
        Err(error) => eprintln!("some changes of files are not announced: {error}"),
    })?;
    for (_, directory) in roots.iter() {
        watcher.watch(directory, RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}
