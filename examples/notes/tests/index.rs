//! `reindex`, and the index when another program writes to the database.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, prelude::*};
use rusqlite::Connection;

/// A new database with 250 notes that another program has put there, and that program's connection.
async fn written_by_another(name: &str, revision: Revision) -> Result<(TestClient, Connection)> {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{revision}.db"));
    let _ = fs::remove_file(&path); // of the run before
    let client = TestClient::with_revision(notes::server(&path)?, revision).await?;
    let another = Connection::open(&path)?;
    another.execute_batch(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 250)
         INSERT INTO notes (title, text) SELECT 'Note ' || n, 'foreign' FROM numbers",
    )?;
    Ok((client, another))
}

fn indexed(db: &Connection) -> Result<i64> {
    Ok(db.query_row("SELECT count(*) FROM words WHERE words MATCH 'foreign'", [], |row| row.get(0))?)
}

#[tokio::test]
async fn reindex_finds_notes_of_another_program() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let (client, another) = written_by_another("found", revision).await?;
        assert_eq!(client.call("search", json!({"query": "foreign"})).await?.text(), "[]");
        let call = client.observe("reindex", json!({})).await?;
        assert_eq!(call.result().text(), "rebuilt the index of 250 notes");
        assert_eq!(indexed(&another)?, 250);

        let (first, last) = (&call.progress()[0], call.progress().last().unwrap());
        assert_eq!((first.done, first.total), (0.0, Some(250.0)));
        assert_eq!((last.done, last.total), (250.0, Some(250.0)));
        assert!(call.progress().is_sorted_by(|one, next| one.done < next.done));

        another.execute_batch("DELETE FROM notes")?;
        client.call("reindex", json!({})).await?;
        assert_eq!(indexed(&another)?, 0, "what is gone is gone from the index");
        assert_eq!(client.observe("reindex", json!({})).await?.result().text(), "rebuilt the index of 0 notes");
    }
    Ok(())
}

#[tokio::test]
async fn cancelled_reindex_stops() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let (client, another) = written_by_another("cancelled", revision).await?;
        another.execute_batch("BEGIN IMMEDIATE")?; // locks out other writers
        let call = client.start("reindex", json!({}))?;
        assert_eq!(call.progress().await?.done, 0.0);
        call.cancel()?;
        drop(call);
        client.list_tools().await?; // messages are read in order: it is cancelled
        another.execute_batch("ROLLBACK")?;
        assert_eq!(client.close().await?, [""; 0], "neither progress nor an answer");
        assert!(indexed(&another)? <= 100, "of three steps, at most the one that had begun was done");
    }
    Ok(())
}
