//! Every handler, as a client of each revision sees it.

use std::path::Path;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::Change;
use mcp_runtime::testing::TestClient;
use serde_json::Value;

async fn connect(revision: Revision) -> Result<TestClient, ServerError> {
    TestClient::with_revision(notes::server(Path::new(":memory:"))?, revision).await
}

/// A notebook with three notes in it.
async fn notebook(revision: Revision) -> Result<TestClient, ServerError> {
    let client = connect(revision).await?;
    for (title, text, tags) in [
        ("Shopping", "Milk, bread and olive oil.", json!(["home", "food"])),
        ("Crème brûlée", "Cream, yolks, sugar. Milk makes it thin.", json!(["food"])),
        ("天气预报", "明天晴。 Привет, 🦀!", json!([])),
    ] {
        client.call("create", json!({"title": title, "text": text, "tags": tags})).await?;
    }
    Ok(client)
}

/// The ids of what a search finds. The text is the JSON in every revision.
async fn found(client: &TestClient, arguments: Value) -> Result<Vec<i64>> {
    let answer = client.call("search", arguments).await?;
    assert!(!answer.is_error(), "{}", answer.text());
    let hits: Vec<Value> = serde_json::from_str(&answer.text())?;
    Ok(hits.iter().filter_map(|hit| hit["id"].as_i64()).collect())
}

#[tokio::test]
async fn search_finds_notes_with_all_words() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        assert_eq!(found(&client, json!({"query": "milk"})).await?.len(), 2);
        assert_eq!(found(&client, json!({"query": "milk sugar"})).await?, [2]);
        assert_eq!(found(&client, json!({"query": "shopping"})).await?, [1], "titles count");
        assert_eq!(found(&client, json!({"query": "yol"})).await?, [2], "beginnings count");
        assert_eq!(found(&client, json!({"query": "wine"})).await?, [0; 0]);
        assert_eq!(found(&client, json!({"query": "milk", "limit": 1})).await?.len(), 1);
        assert_eq!(found(&client, json!({"query": "milk", "tag": "home"})).await?, [1]);
        assert_eq!(found(&client, json!({"query": "milk", "tag": "travel"})).await?, [0; 0]);

        let answer = client.call("search", json!({"query": "bread"})).await?;
        let hit = json!({
            "id": 1, "title": "Shopping", "tags": ["food", "home"], "excerpt": "Milk, *bread* and olive oil.",
        });
        assert_eq!(serde_json::from_str::<Value>(&answer.text())?, json!([hit]));
        if revision.is_modern() {
            assert_eq!(answer.structured::<Value>()?, json!([hit]));
        }
        let nothing = client.call("search", json!({"query": " \n"})).await?;
        assert!(nothing.is_error() && nothing.text().contains("give at least one word"));
    }
    Ok(())
}

#[tokio::test]
async fn search_folds_case_and_accents_in_other_scripts() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        assert_eq!(found(&client, json!({"query": "CREME brulee"})).await?, [2]);
        assert_eq!(found(&client, json!({"query": "ПРИВЕТ"})).await?, [3]);
        assert_eq!(found(&client, json!({"query": "天气 🦀"})).await?, [3]);
        assert_eq!(client.read("note://3").await?.text(), "# 天气预报\n\n明天晴。 Привет, 🦀!");
    }
    Ok(())
}

#[tokio::test]
async fn search_text_is_not_query_syntax() -> Result<()> {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let client = notebook(revision).await?;
        let odd = ["\"", "\"\"\"", "'", "*", "(", "NOT", "NEAR(a b)", "^x", "{title}: x", "z:", "-", "\\", "%"];
        for query in odd {
            assert_eq!(found(&client, json!({"query": query})).await?, [0; 0], "{query}");
        }
        assert_eq!(found(&client, json!({"query": "milk OR bread"})).await?, [0; 0], "a word like others");
        assert_eq!(found(&client, json!({"query": "AND"})).await?, [1], "and so is this one");
        assert_eq!(found(&client, json!({"query": "title:shopping"})).await?, [0; 0]);
        for query in ["\"olive", "bread*", "bread\" *", "-bread", "bread\0olive"] {
            assert_eq!(found(&client, json!({"query": query})).await?, [1], "{query:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn arguments_cannot_inject_sql() -> Result<()> {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let client = notebook(revision).await?;
        let evil = "x'); DROP TABLE notes; --";
        let note = json!({"title": evil, "text": evil, "tags": [evil]});
        assert!(!client.call("create", note).await?.is_error());
        assert_eq!(client.read("note://4").await?.text(), format!("# {evil}\n\n{evil}"));
        assert_eq!(found(&client, json!({"query": evil, "tag": evil})).await?, [4]);
        assert_eq!(found(&client, json!({"query": "milk", "tag": "' OR 1 = 1 --"})).await?, [0; 0]);
        assert!(client.read("note://1%20OR%201=1").await.is_err());
        assert_eq!(client.complete_prompt("review", "title", "' OR '1'='1", json!({})).await?.values, [""; 0]);
        assert_eq!(client.complete_prompt("review", "title", evil, json!({})).await?.values, [evil]);
        assert_eq!(found(&client, json!({"query": "milk"})).await?.len(), 2, "all is still there");
    }
    Ok(())
}

#[tokio::test]
async fn notes_are_created_edited_and_deleted() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = connect(revision).await?;
        let created = client.call("create", json!({"title": "Plan", "text": "first"})).await?;
        assert_eq!(created.text(), "created note 1, to be read at note://1");
        let note = client.read("note://1").await?;
        assert_eq!(note.text(), "# Plan\n\nfirst");
        assert_eq!(note.contents()[0].mime_type.as_deref(), Some("text/markdown"));

        assert_eq!(client.call("edit", json!({"id": 1, "text": "second"})).await?.text(), "edited note 1");
        assert_eq!(client.read("note://1").await?.text(), "# Plan\n\nsecond");
        assert_eq!(found(&client, json!({"query": "first"})).await?, [0; 0]);
        assert_eq!(found(&client, json!({"query": "second"})).await?, [1]);

        assert_eq!(client.call("delete", json!({"id": 1})).await?.text(), "deleted note 1");
        assert_eq!(found(&client, json!({"query": "second"})).await?, [0; 0]);
        client.call("create", json!({"title": "Plan", "text": "third"})).await?;
        assert_eq!(client.read("note://2").await?.text(), "# Plan\n\nthird", "the title is free, the id is not");
    }
    Ok(())
}

#[tokio::test]
async fn errors_say_what_to_do() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        for (tool, arguments, text) in [
            ("delete", json!({"id": 9}), "there is no note 9: `search` finds notes, notes://index lists them"),
            (
                "edit",
                json!({"id": 9, "text": ""}),
                "there is no note 9: `search` finds notes, notes://index lists them",
            ),
            (
                "create",
                json!({"title": "Shopping", "text": ""}),
                "note 1 has this title: edit that one, or choose another title",
            ),
            ("create", json!({"title": " ", "text": ""}), "a title is one line of text: give the note another"),
            ("create", json!({"title": "a\nb", "text": ""}), "a title is one line of text: give the note another"),
        ] {
            let answer = client.call(tool, arguments).await?;
            assert!(answer.is_error());
            assert_eq!(answer.text(), text);
        }
        let missing = client.read("note://9").await.unwrap_err();
        assert_eq!(missing.code(), Some(if revision.is_modern() { -32602 } else { -32002 }));
        let missing = client.get_prompt("review", json!({"title": "Nothing"})).await.unwrap_err();
        assert_eq!(missing.code(), Some(-32602));
        assert_eq!(missing.to_string(), "no note is called \"Nothing\"; notes://index lists all titles");
    }
    Ok(())
}

#[tokio::test]
async fn resources_and_templates_are_listed_and_read() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        let uris: Vec<String> = client.list_resources().await?.into_iter().map(|resource| resource.uri).collect();
        assert_eq!(uris, ["config://notes", "notes://index"]);
        assert_eq!(client.list_templates().await?[0].uri_template, "note://{id}");

        let settings: Value = serde_json::from_str(&client.read("config://notes").await?.text())?;
        assert_eq!((&settings["database"], &settings["most_hits"]), (&json!(":memory:"), &json!(100)));
        let index: Value = serde_json::from_str(&client.read("notes://index").await?.text())?;
        assert_eq!(index[0], json!({"id": 1, "title": "Shopping", "tags": ["food", "home"]}));
        assert_eq!(index.as_array().map(Vec::len), Some(3));

        let ids = client.complete_template("note://{id}", "id", "", json!({})).await?;
        assert_eq!((ids.values, ids.total), (vec!["1".to_owned(), "2".to_owned(), "3".to_owned()], Some(3)));
        assert_eq!(client.complete_template("note://{id}", "id", "2", json!({})).await?.values, ["2"]);
    }
    Ok(())
}

#[tokio::test]
async fn review_prompt_embeds_the_note() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        let prompt = client.get_prompt("review", json!({"title": "Shopping", "focus": "facts"})).await?;
        assert_eq!(prompt.text(), "Review the facts in this note: which are wrong, which need a source?");
        let resource = json!({
            "uri": "note://1", "mimeType": "text/markdown", "text": "# Shopping\n\nMilk, bread and olive oil.",
        });
        assert_eq!(prompt.messages()[1].content, json!({"type": "resource", "resource": resource}));
        assert_eq!(client.get_prompt("review", json!({"title": "Shopping"})).await?.text(), "Review this note.");

        assert_eq!(client.complete_prompt("review", "title", "sh", json!({})).await?.values, ["Shopping"]);
        assert_eq!(client.complete_prompt("review", "title", "", json!({})).await?.values.len(), 3);
        assert_eq!(client.complete_prompt("review", "focus", "st", json!({})).await?.values, ["style", "structure"]);
    }
    Ok(())
}

#[tokio::test]
async fn digest_prompt_has_all_notes_of_a_tag() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        for (title, text) in [("Rome", "old"), ("Oslo", "cold")] {
            client.call("create", json!({"title": title, "text": text, "tags": ["Town"]})).await?;
        }
        let prompt = client.get_prompt("digest", json!({"tag": "Town"})).await?;
        assert_eq!(prompt.text(), "Sum up these notes.\n\n# Rome\n\nold\n\n# Oslo\n\ncold");
        assert_eq!(client.complete_prompt("digest", "tag", "to", json!({})).await?.values, ["Town"]);
        let missing = client.get_prompt("digest", json!({"tag": "Nothing"})).await.unwrap_err();
        assert_eq!(missing.code(), Some(-32602));
    }
    Ok(())
}

#[tokio::test]
async fn changes_reach_only_subscribers() -> Result<()> {
    for revision in Revision::ALL.iter().copied() {
        let client = notebook(revision).await?;
        let changes = client.changes(["notes://index", "note://2"]).await?;
        let (index, second) =
            (Change::ResourceUpdated("notes://index".into()), Change::ResourceUpdated("note://2".into()));

        client.call("create", json!({"title": "Plan", "text": ""})).await?;
        assert_eq!(changes.next().await?, index);
        client.call("edit", json!({"id": 2, "text": "Sugar."})).await?;
        assert_eq!([changes.next().await?, changes.next().await?], [second.clone(), index.clone()]);
        client.call("delete", json!({"id": 9})).await?; // unknown: nothing has changed
        client.call("delete", json!({"id": 1})).await?; // not subscribed to
        assert_eq!(changes.next().await?, index);
        client.call("delete", json!({"id": 2})).await?;
        assert_eq!([changes.next().await?, changes.next().await?], [second, index]);
        assert_eq!(changes.drain(), []);
    }
    Ok(())
}
