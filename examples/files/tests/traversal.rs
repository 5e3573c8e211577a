//! No path leads out of the served directories, however it is written and whichever handler it reaches.

mod common;

use std::fs;
use std::path::Path;

use common::{connect, sandbox};
use files::Roots;
use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

/// The errors of every handler for a path. Fails if one of them accepts it, or tells the secret.
async fn errors(client: &TestClient, path: &str) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    for (tool, arguments) in [
        ("list", json!({"path": path})),
        ("read", json!({"path": path})),
        ("search", json!({"path": path, "text": "secret"})),
        ("write", json!({"path": path, "text": "overwritten"})),
        ("write", json!({"path": path, "text": "overwritten", "overwrite": true})),
    ] {
        let answer = client.call(tool, arguments).await?;
        assert!(answer.is_error(), "{tool} accepts {path:?}: {}", answer.text());
        errors.push(answer.text());
    }
    Ok(errors)
}

/// What is left of the secret, and what else is outside: `write` must not have changed either.
fn outside(sandbox: &Path) -> (String, usize) {
    (fs::read_to_string(sandbox.join("secret.txt")).unwrap(), fs::read_dir(sandbox).unwrap().count())
}

#[tokio::test]
async fn parent_and_absolute_paths_are_refused() -> Result<()> {
    let sandbox = sandbox("parents");
    let secret = sandbox.join("secret.txt");
    let secret = secret.to_str().unwrap();
    let before = outside(&sandbox);
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(&sandbox, revision).await?;
        for path in
            ["docs/../secret.txt", "docs/sub/../../secret.txt", "docs/..", "docs/../docs/guide.md", "docs/new/../../x"]
        {
            for error in errors(&client, path).await? {
                assert_eq!(error, format!("{path:?} is refused: write the path without `..`"));
            }
        }
        for path in [
            "..",
            "../secret.txt",
            "/etc/passwd",
            secret,
            "",
            ".",
            "./docs/guide.md",
            "secret.txt",
            "DOCS/guide.md",
            "~",
            "//docs",
        ] {
            for error in errors(&client, path).await? {
                let expected = format!("{path:?} is not in a served directory: begin the path with one of docs");
                assert_eq!(error, expected);
            }
        }
        // Names like any other: they do not exist.
        for path in ["docs/%2e%2e/secret.txt", "docs/...", "docs/~", "docs/..\u{2215}secret.txt"] {
            assert!(client.call("read", json!({"path": path})).await?.text().contains("does not exist"), "{path}");
        }
        assert!(client.call("read", json!({"path": "docs/\0"})).await?.is_error());
    }
    assert_eq!(outside(&sandbox), before);
    Ok(())
}

#[tokio::test]
async fn uris_are_decoded_before_they_are_checked() -> Result<()> {
    let sandbox = sandbox("uris");
    let absolute = format!("files://{}", sandbox.join("secret.txt").display());
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(&sandbox, revision).await?;
        assert_eq!(client.read("files://docs/%67uide.md").await?.text(), "# Guide\nRead me.\n");
        for uri in [
            "files://docs/../secret.txt",
            "files://docs/%2e%2e/secret.txt",
            "files://docs/%2E%2E%2Fsecret.txt",
            "files://docs%2F..%2Fsecret.txt",
            "files://%2e%2e/secret.txt",
            "files:///etc/passwd",
            "files://%2Fetc%2Fpasswd",
            "files://secret.txt",
            "files://docs/%00",
            &absolute,
        ] {
            let error = client.read(uri).await.unwrap_err();
            assert_eq!(error.code(), Some(-32602), "{uri}: {error}");
        }
        // Decoded once: a file with `%` in its name.
        let missing = client.read("files://docs/%252e%252e/secret.txt").await.unwrap_err();
        assert_eq!(missing.code(), Some(if revision.is_modern() { -32602 } else { -32002 }));
    }
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn links_that_lead_out_are_refused() -> Result<()> {
    use std::os::unix::fs::symlink;

    let sandbox = sandbox("links");
    let docs = sandbox.join("docs");
    symlink(sandbox.join("secret.txt"), docs.join("absolute")).unwrap();
    symlink("../secret.txt", docs.join("relative")).unwrap();
    symlink("relative", docs.join("chain")).unwrap();
    symlink("..", docs.join("up")).unwrap();
    let before = outside(&sandbox);
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(&sandbox, revision).await?;
        for path in ["docs/absolute", "docs/relative", "docs/chain", "docs/up", "docs/up/secret.txt"] {
            for error in errors(&client, path).await? {
                assert_eq!(error, format!("{path:?} is refused: a link leads out of the served directories"));
            }
            assert_eq!(client.read(&format!("files://{path}")).await.unwrap_err().code(), Some(-32602));
        }
        let new = client.call("write", json!({"path": "docs/up/new.txt", "text": ""})).await?;
        assert_eq!(new.text(), "\"docs/up/new.txt\" is refused: a link leads out of the served directories");
        let found = client.call("search", json!({"path": "docs", "text": "secret"})).await?;
        assert_eq!(found.structured::<serde_json::Value>()?["hits"], json!([]), "links are not followed");
        let completed = client.complete_template("files://{+path}", "path", "docs/up/", json!({})).await?;
        assert_eq!(completed.values, [""; 0]);
    }
    assert_eq!(outside(&sandbox), before);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn links_to_nothing_are_not_written_through() -> Result<()> {
    use std::os::unix::fs::symlink;

    let sandbox = sandbox("dangling");
    symlink(sandbox.join("created.txt"), sandbox.join("docs/dangling")).unwrap();
    symlink(sandbox.join("missing"), sandbox.join("docs/nowhere")).unwrap();
    let before = outside(&sandbox);
    let client = connect(&sandbox, Revision::V2026_07_28).await?;
    for overwrite in [false, true] {
        let write = json!({"path": "docs/dangling", "text": "x", "overwrite": overwrite});
        let told = client.call("write", write).await?.text();
        assert_eq!(told, "\"docs/dangling\" is a link to a file that does not exist: choose another name");
        let write = json!({"path": "docs/nowhere/x", "text": "x", "overwrite": overwrite});
        assert!(client.call("write", write).await?.is_error());
    }
    assert_eq!(outside(&sandbox), before);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn links_that_stay_inside_are_followed() -> Result<()> {
    use std::os::unix::fs::symlink;

    let sandbox = sandbox("inside");
    symlink("../guide.md", sandbox.join("docs/sub/link.md")).unwrap();
    // The served directory may be a link itself.
    symlink(sandbox.join("docs"), sandbox.join("served")).unwrap();
    let server = files::server(Roots::open([sandbox.join("served")])?);
    let client = TestClient::connect(server).await?;
    assert_eq!(client.read("files://docs/sub/link.md").await?.text(), "# Guide\nRead me.\n");
    client.call("write", json!({"path": "docs/sub/link.md", "text": "new", "overwrite": true})).await?;
    assert_eq!(fs::read_to_string(sandbox.join("docs/guide.md"))?, "new");
    assert!(sandbox.join("docs/sub/link.md").is_symlink());
    Ok(())
}

#[test]
fn directories_to_serve_are_checked() {
    let sandbox = sandbox("served");
    fs::create_dir_all(sandbox.join("other/docs")).unwrap();
    let told =
        |directories: &[&str]| Roots::open(directories.iter().map(|name| sandbox.join(name))).unwrap_err().to_string();
    assert!(told(&[]).contains("name one or more"));
    assert!(told(&["missing"]).contains("missing"));
    assert!(told(&["secret.txt"]).contains("it is not a directory"));
    assert!(told(&["docs", "other/docs"]).contains("have the same name"));
    assert!(Roots::open(["/"]).unwrap_err().to_string().contains("it has no name"));
}
