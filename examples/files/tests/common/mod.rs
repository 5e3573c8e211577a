//! A directory to serve, and a client of its server.

use std::fs;
use std::path::{Path, PathBuf};

use files::Roots;
use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

/// A new directory for one test. It has `docs`, which is served, and `secret.txt`, which is not.
pub fn sandbox(test: &str) -> PathBuf {
    let sandbox = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&sandbox);
    fs::create_dir_all(sandbox.join("docs/sub")).unwrap();
    fs::write(sandbox.join("secret.txt"), "the secret").unwrap();
    fs::write(sandbox.join("docs/guide.md"), "# Guide\nRead me.\n").unwrap();
    fs::write(sandbox.join("docs/sub/a b.txt"), "Read me, too.\n").unwrap();
    fs::write(sandbox.join("docs/pixel.png"), PIXEL).unwrap();
    sandbox
}

/// The first bytes of an image: not Unicode.
pub const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n";

pub async fn connect(sandbox: &Path, revision: Revision) -> Result<TestClient> {
    let server = files::server(Roots::open([sandbox.join("docs")])?);
    Ok(TestClient::with_revision(server, revision).await?)
}
