//! Whole dialogues, in every revision.

use booking::server;
use mcp_runtime::testing::TestClient;
use mcp_runtime::testing::{ElicitReply, ElicitRequest};
use mcp_runtime::{Revision, prelude::*};

/// The revisions in which a user can be asked.
const ASK: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

fn guest(guests: u8, seating: &'static str, yes: bool) -> impl FnMut(&ElicitRequest) -> ElicitReply {
    move |question| match question.message() {
        form if form.starts_with("A table for") => {
            ElicitReply::accept(json!({"guests": guests, "day": "2026-12-24", "seating": seating}))
        }
        rain if rain.starts_with("It may rain") => ElicitReply::accept(json!({"yes": yes})),
        _ if question.url().is_some() => ElicitReply::accept(json!({})),
        _ => ElicitReply::accept(json!({"yes": true})),
    }
}

async fn book(
    revision: Revision,
    guest: impl FnMut(&ElicitRequest) -> ElicitReply + Send + 'static,
) -> Result<(String, String)> {
    let client = TestClient::builder(server()).revision(revision).on_elicit(guest).connect().await?;
    let answer = client.call("book", json!({"name": "Ada"})).await?.text();
    Ok((answer, client.call("reservations", json!({})).await?.text()))
}

#[tokio::test]
async fn booking_reserves_one_table() -> Result<()> {
    for revision in ASK {
        let (answer, tables) = book(revision, guest(2, "inside", true)).await?;
        assert_eq!(answer, "Table 1 is booked for Ada, 2 on 2026-12-24.", "{revision}");
        assert_eq!(tables, r#"["Ada, 2 on 2026-12-24"]"#, "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn refused_rain_warning_books_nothing() -> Result<()> {
    for revision in ASK {
        let (answer, tables) = book(revision, guest(2, "terrace", false)).await?;
        assert_eq!((&*answer, &*tables), ("nothing is booked: no terrace", r#"["free"]"#), "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn declined_and_cancelled_forms_book_nothing() -> Result<()> {
    for revision in ASK {
        let no = |question: &ElicitRequest| match question.message() {
            form if form.starts_with("A table for") => ElicitReply::accept(json!({"guests": 2, "day": "2026-12-24"})),
            _ => ElicitReply::decline(),
        };
        let (answer, tables) = book(revision, no).await?;
        assert_eq!((&*answer, &*tables), ("nothing is booked: not confirmed", r#"["free"]"#), "{revision}");
        let (answer, tables) = book(revision, |_| ElicitReply::cancel()).await?;
        assert_eq!((&*answer, &*tables), ("the user dismissed the question without an answer", "[]"), "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn large_table_needs_a_url_elicitation() -> Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (answer, _) = book(revision, guest(8, "inside", true)).await?;
        assert_eq!(answer, "Table 1 is booked for Ada, 8 on 2026-12-24.", "{revision}");
    }
    let (answer, tables) = book(Revision::V2025_06_18, guest(8, "inside", true)).await?;
    assert_eq!((&*answer, &*tables), ("nothing is booked: for more than 6, call us", r#"["free"]"#));
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut others = guest(8, "inside", true);
        let unpaid = move |question: &ElicitRequest| {
            if question.url().is_some() { ElicitReply::decline() } else { others(question) }
        };
        let (answer, tables) = book(revision, unpaid).await?;
        assert_eq!((&*answer, &*tables), ("the user declined", r#"["free"]"#), "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn booking_runs_as_a_task() -> Result<()> {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = TestClient::builder(server()).revision(revision).tasks();
        let client = client.on_elicit(guest(8, "terrace", true)).connect().await?;
        // The questions come first, then the task.
        let task = client.start_task("book", json!({"name": "Ada"})).await?;
        let answer = task.result().await?;
        assert_eq!(answer.text(), "Table 1 is booked for Ada, 8 on 2026-12-24.", "{revision}");
        assert_eq!(task.status().await?.message.as_deref(), Some("folding napkins"), "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_form_content_is_rejected() -> Result<()> {
    for revision in ASK {
        let (answer, tables) = book(revision, guest(99, "inside", true)).await?;
        assert!(answer.contains("`guests`") && tables == "[]", "{revision}: {answer} {tables}");
    }
    Ok(())
}

#[tokio::test]
async fn client_without_elicitation_gets_an_error_first() -> Result<()> {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let client = TestClient::with_revision(server(), revision).await?;
        let answer = client.call("book", json!({"name": "Ada"})).await?;
        assert!(
            answer.is_error() && answer.text().contains("that came with 2025-06-18"),
            "{revision}: {}",
            answer.text()
        );
    }
    Ok(())
}

/// The parameters of the next round: the answers, and the state as it came.
fn retry(round: &serde_json::Value, content: &serde_json::Value) -> serde_json::Value {
    let key = round["inputRequests"].as_object().expect("a question").keys().next().expect("one");
    let answers = json!({key: {"action": "accept", "content": content}});
    json!({"name": "book", "arguments": {"name": "Ada"}, "inputResponses": answers, "requestState": round["requestState"]})
}

/// A client of 2026-07-28 holds the state of each round, and can send any of them again.
#[tokio::test]
async fn old_state_does_not_sell_a_freed_table() -> Result<()> {
    let client = TestClient::builder(server()).capability("elicitation", json!({})).connect().await?;
    let call = |params| client.request("tools/call", params);
    let first = call(json!({"name": "book", "arguments": {"name": "Ada"}})).await?;
    let wish = retry(&first, &json!({"guests": 2, "day": "2026-12-24"}));
    let confirm = call(wish.clone()).await?;
    let refused = call(retry(&confirm, &json!({"yes": false}))).await?;
    assert_eq!(refused["content"][0]["text"], "nothing is booked: not confirmed");
    let given_back = "nothing is booked: table 1 was given back; ask for a table again";
    for _ in 0..2 {
        // The table is free; then it is another guest's.
        let late = call(retry(&confirm, &json!({"yes": true}))).await?;
        assert_eq!((&late["isError"], &late["content"][0]["text"]), (&json!(true), &json!(given_back)));
        // Nor does the round before reserve another table.
        let again = call(wish.clone()).await?;
        let late = call(retry(&again, &json!({"yes": true}))).await?;
        assert_eq!(late["content"][0]["text"], given_back);
        let other = call(json!({"name": "book", "arguments": {"name": "Bob"}})).await?;
        let mut other = retry(&other, &json!({"guests": 3, "day": "2026-12-24"}));
        other["arguments"]["name"] = json!("Bob");
        call(other).await?;
    }
    let tables = client.call("reservations", json!({})).await?.text();
    assert_eq!(tables, r#"["Bob, 3 on 2026-12-24","Bob, 3 on 2026-12-24"]"#);
    Ok(())
}

#[tokio::test]
async fn copies_of_a_round_reserve_one_table() -> Result<()> {
    let client = TestClient::builder(server()).capability("elicitation", json!({})).connect().await?;
    let first = client.request("tools/call", json!({"name": "book", "arguments": {"name": "Ada"}})).await?;
    let wish = retry(&first, &json!({"guests": 2, "day": "2026-12-24"}));
    let copy = || client.request("tools/call", wish.clone());
    let (one, two, three) = tokio::join!(copy(), copy(), copy());
    for round in [one?, two?, three?] {
        let booked = client.request("tools/call", retry(&round, &json!({"yes": true}))).await?;
        assert_eq!(booked["content"][0]["text"], "Table 1 is booked for Ada, 2 on 2026-12-24.");
    }
    assert_eq!(client.call("reservations", json!({})).await?.text(), r#"["Ada, 2 on 2026-12-24"]"#);
    Ok(())
}
