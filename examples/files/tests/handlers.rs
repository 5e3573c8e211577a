//! Every handler, as a client sees it.

mod common;

use std::fs;
use std::time::Duration;

use common::{PIXEL, connect, sandbox};
use files::{MAX_BYTES, Roots};
use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::Change;
use mcp_runtime::testing::TestClient;
use serde_json::Value;

#[tokio::test]
async fn directories_are_listed() -> Result<()> {
    let sandbox = sandbox("listed");
    for &revision in Revision::ALL {
        let client = connect(&sandbox, revision).await?;
        let list = async |arguments| -> Result<Value> {
            Ok(serde_json::from_str(&client.call("list", arguments).await?.text())?)
        };
        let top = json!([{"path": "docs", "kind": "directory", "size": 0, "uri": "files://docs"}]);
        assert_eq!(list(json!({})).await?, json!({"entries": top, "truncated": false}));
        let docs = json!([
            {"path": "docs/guide.md", "kind": "file", "size": 17, "uri": "files://docs/guide.md"},
            {"path": "docs/pixel.png", "kind": "file", "size": 8, "uri": "files://docs/pixel.png"},
            {"path": "docs/sub", "kind": "directory", "size": 0, "uri": "files://docs/sub"},
        ]);
        assert_eq!(list(json!({"path": "docs/"})).await?["entries"], docs);
        let sub = list(json!({"path": "docs/sub"})).await?;
        assert_eq!(sub["entries"][0]["uri"], "files://docs/sub/a%20b.txt");
        assert_eq!(client.read("files://docs/sub/a%20b.txt").await?.text(), "Read me, too.\n");
    }
    Ok(())
}

#[tokio::test]
async fn long_listings_are_cut() -> Result<()> {
    let sandbox = sandbox("long");
    for number in 0..1001 {
        fs::write(sandbox.join(format!("docs/sub/{number}")), "")?;
    }
    let client = connect(&sandbox, Revision::V2026_07_28).await?;
    let listing: Value = client.call("list", json!({"path": "docs/sub"})).await?.structured()?;
    assert_eq!((listing["entries"].as_array().map(Vec::len), &listing["truncated"]), (Some(1000), &json!(true)));
    Ok(())
}

#[tokio::test]
async fn text_images_and_blobs_are_told_apart() -> Result<()> {
    let sandbox = sandbox("kinds");
    fs::write(sandbox.join("docs/data.bin"), [0xff, 0x00])?;
    for &revision in Revision::ALL {
        let client = connect(&sandbox, revision).await?;
        let read = async |path| client.call("read", json!({"path": path})).await;
        assert_eq!(read("docs/guide.md").await?.text(), "# Guide\nRead me.\n");
        let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
        assert_eq!(read("docs/pixel.png").await?.content(), [image]);
        let blob = json!({"uri": "files://docs/data.bin", "mimeType": "application/octet-stream", "blob": "/wA="});
        assert_eq!(read("docs/data.bin").await?.content(), [json!({"type": "resource", "resource": blob})]);

        let guide = client.read("files://docs/guide.md").await?;
        assert_eq!(
            (guide.text(), guide.contents()[0].mime_type.as_deref()),
            ("# Guide\nRead me.\n".into(), Some("text/markdown"))
        );
        let pixel = client.read("files://docs/pixel.png").await?;
        assert_eq!((pixel.bytes()?, pixel.contents()[0].mime_type.as_deref()), (PIXEL.to_vec(), Some("image/png")));
    }
    Ok(())
}

#[tokio::test]
async fn lines_are_found() -> Result<()> {
    let sandbox = sandbox("found");
    let client = connect(&sandbox, Revision::V2026_07_28).await?;
    let search = async |arguments| -> Result<Value> { Ok(client.call("search", arguments).await?.structured()?) };
    let guide = json!({"path": "docs/guide.md", "line": 2, "text": "Read me."});
    let other = json!({"path": "docs/sub/a b.txt", "line": 1, "text": "Read me, too."});
    let all = json!({"hits": [guide, other], "skipped": 1, "truncated": false});
    assert_eq!(search(json!({"path": "docs", "text": "Read"})).await?, all, "the image is skipped");
    let one = search(json!({"path": "docs", "text": "Read", "limit": 1})).await?;
    assert_eq!((&one["hits"], &one["truncated"]), (&json!([guide]), &json!(true)));
    let file = search(json!({"path": "docs/guide.md", "text": "Read"})).await?;
    assert_eq!(file["hits"], json!([guide]));
    assert_eq!(search(json!({"path": "docs", "text": "R.*d"})).await?["hits"], json!([]), "not a pattern");
    assert!(client.call("search", json!({"path": "docs", "text": ""})).await?.is_error());
    Ok(())
}

#[tokio::test]
async fn files_are_written() -> Result<()> {
    let sandbox = sandbox("written");
    let client = connect(&sandbox, Revision::V2026_07_28).await?;
    let write = async |arguments| -> Result<String> { Ok(client.call("write", arguments).await?.text()) };
    let created = write(json!({"path": "docs/sub/new é.md", "text": "one"})).await?;
    assert_eq!(created, "created docs/sub/new é.md, to be read at files://docs/sub/new%20%C3%A9.md");
    let refused = write(json!({"path": "docs/sub/new é.md", "text": "two"})).await?;
    assert_eq!(refused, "docs/sub/new é.md exists: set `overwrite` to replace it");
    assert_eq!(fs::read_to_string(sandbox.join("docs/sub/new é.md"))?, "one");
    write(json!({"path": "docs/sub/new é.md", "text": "two", "overwrite": true})).await?;
    assert_eq!(client.read("files://docs/sub/new%20%C3%A9.md").await?.text(), "two");
    let missing = write(json!({"path": "docs/missing/new.md", "text": ""})).await?;
    assert_eq!(missing, "the directory of \"docs/missing/new.md\" does not exist");
    Ok(())
}

#[tokio::test]
async fn sizes_are_bounded() -> Result<()> {
    let sandbox = sandbox("sizes");
    fs::write(sandbox.join("docs/full"), "x".repeat(MAX_BYTES))?;
    fs::write(sandbox.join("docs/large"), "x".repeat(MAX_BYTES + 1))?;
    let client = connect(&sandbox, Revision::V2026_07_28).await?;
    assert_eq!(client.call("read", json!({"path": "docs/full"})).await?.text().len(), MAX_BYTES);
    let large = client.call("read", json!({"path": "docs/large"})).await?;
    assert_eq!(large.text(), "docs/large is larger than 1048576 bytes, the most that is read");
    assert_eq!(client.read("files://docs/large").await.unwrap_err().code(), Some(-32602));
    let write = json!({"path": "docs/new", "text": "x".repeat(MAX_BYTES + 1)});
    assert!(client.call("write", write).await?.is_error() && !sandbox.join("docs/new").exists());
    Ok(())
}

#[tokio::test]
async fn paths_are_completed() -> Result<()> {
    let sandbox = sandbox("completed");
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = connect(&sandbox, revision).await?;
        for (typed, expected) in [
            ("", vec!["docs/"]),
            ("do", vec!["docs/"]),
            ("docs/", vec!["docs/guide.md", "docs/pixel.png", "docs/sub/"]),
            ("docs/s", vec!["docs/sub/"]),
            ("docs/sub/a", vec!["docs/sub/a b.txt"]),
            ("docs/../", vec![]),
            ("/", vec![]),
        ] {
            let completed = client.complete_template("files://{+path}", "path", typed, json!({})).await?;
            assert_eq!(completed.values, expected, "{typed:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn changes_reach_subscribers() -> Result<()> {
    for (revision, test) in [(Revision::V2025_11_25, "changes-2025"), (Revision::V2026_07_28, "changes-2026")] {
        let sandbox = sandbox(test);
        let roots = Roots::open([sandbox.join("docs")])?;
        let server = files::server(roots.clone());
        let _watcher = files::watch(&roots, server.handle())?;
        let client = TestClient::with_revision(server, revision).await?;
        let [seen, made, read, last] =
            ["sub/a%20b.txt", "new.md", "guide.md", "pixel.png"].map(|name| format!("files://docs/{name}"));
        let changes = client.changes([&*seen, &made, &read, &last]).await?;
        // One write can be several changes.
        let until = async |uri: &str| -> Result<Vec<Change>> {
            let mut before = Vec::new();
            loop {
                match tokio::time::timeout(Duration::from_secs(60), changes.next()).await?? {
                    Change::ResourceUpdated(updated) if updated == uri => return Ok(before),
                    other => before.push(other),
                }
            }
        };

        // By another program; by a call, of a file that was subscribed to before it existed.
        fs::write(sandbox.join("docs/sub/a b.txt"), "changed")?;
        until(&seen).await?;
        assert_eq!(client.read(&seen).await?.text(), "changed");
        client.call("write", json!({"path": "docs/new.md", "text": ""})).await?;
        until(&made).await?;
        // Reading changes nothing.
        client.read(&read).await?;
        fs::remove_file(sandbox.join("docs/pixel.png"))?;
        assert!(!until(&last).await?.contains(&Change::ResourceUpdated(read)));
    }
    Ok(())
}
