//! What a user may do, and that nobody sees the notes of others: without HTTP, in every revision.

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;

const READ: &[&str] = &["notes:read"];
const BOTH: &[&str] = &["notes:read", "notes:write"];

fn server() -> Server {
    protected_notes::server(protected_notes::remote("https://auth.example.com", "https://mcp.example.com/mcp"))
}

async fn user(name: &str, scopes: &[&str], revision: Revision) -> Result<TestClient> {
    let scopes = scopes.iter().copied();
    Ok(TestClient::builder(server()).revision(revision).user(name, scopes).connect().await?)
}

#[tokio::test]
async fn writers_read_what_they_wrote() -> Result<()> {
    for &revision in Revision::ALL {
        let alice = user("alice", BOTH, revision).await?;
        assert_eq!(alice.call("list_notes", json!({})).await?.text(), "[]");
        let wrote = alice.call("write_note", json!({"id": "shopping", "text": "milk"})).await?.text();
        assert_eq!(wrote, "wrote note shopping, to be read at note://shopping");
        alice.call("write_note", json!({"id": "7", "text": "seven"})).await?;
        let all = alice.call("list_notes", json!({})).await?.text();
        assert_eq!(all, r#"[{"id":"7","text":"seven"},{"id":"shopping","text":"milk"}]"#);
        for id in [json!("7"), json!(7)] {
            assert_eq!(alice.call("read_note", json!({"id": id})).await?.text(), "seven");
        }
        assert_eq!(alice.read("note://shopping").await?.text(), "milk");
        let prompt = alice.get_prompt("summary", json!({})).await?.text();
        assert!(prompt.contains("at most 3") && prompt.contains("# shopping\n\nmilk"), "{prompt}");
        assert_eq!(alice.call("delete_note", json!({"id": "7"})).await?.text(), "deleted note 7");
        let gone = alice.call("delete_note", json!({"id": "7"})).await?;
        assert!(gone.is_error() && gone.text().contains("you have no note `7`"), "{}", gone.text());
    }
    Ok(())
}

#[tokio::test]
async fn scopes_are_needed() -> Result<()> {
    for &revision in Revision::ALL {
        let reader = user("bob", READ, revision).await?;
        let names: Vec<String> = reader.list_tools().await?.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["list_notes", "read_note"], "what bob may call");
        for (tool, arguments) in [("write_note", json!({"id": "1", "text": "a"})), ("delete_note", json!({"id": "1"}))]
        {
            let denied = reader.call(tool, arguments).await.unwrap_err();
            assert_eq!(denied.data().unwrap()["missingScopes"], json!(["notes:write"]), "{tool}");
        }
        assert_eq!(reader.call("list_notes", json!({})).await?.text(), "[]", "nothing was written");
    }
    Ok(())
}

/// `notes:write` alone does not read: every call needs `notes:read`.
#[tokio::test]
async fn every_call_needs_notes_read() -> Result<()> {
    let client = user("carol", &["notes:write"], Revision::LATEST).await?;
    let denied = client.call("write_note", json!({"id": "1", "text": "a"})).await.unwrap_err();
    assert_eq!(denied.data().unwrap()["missingScopes"], json!(["notes:read"]));
    Ok(())
}

#[tokio::test]
async fn texts_and_ids_are_bounded() -> Result<()> {
    let alice = user("alice", BOTH, Revision::LATEST).await?;
    for arguments in [
        json!({"id": "a", "text": "x".repeat(10_001)}),
        json!({"id": "a".repeat(101), "text": ""}),
        json!({"id": "", "text": ""}),
    ] {
        let refused = alice.call("write_note", arguments).await?;
        assert!(refused.is_error(), "{}", refused.text());
    }
    Ok(())
}
