//! What holds for a whole dialogue, in sessions and in rounds: its id, visits, retries, timeouts and refusals.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ElicitReply, ElicitRequest, TestClient, TestClientBuilder};
use mcp_runtime::{Limits, Revision};
use serde_json::Value;

use super::{Age, Name};

const SECRET: &str = "the secret of these tests, long enough";
const ASK: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];
const URL: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Tell the id of the dialogue in every run.
#[tool]
async fn identify(ctx: &Context) -> Result<String> {
    let before = ctx.once("id", async { Ok(ctx.dialogue_id().to_owned()) }).await?;
    let _: Name = ctx.elicit("Who?").await?;
    let between = ctx.dialogue_id().to_owned();
    let _: Age = ctx.elicit("How old?").await?;
    assert_eq!((&*before, &*between), (ctx.dialogue_id(), ctx.dialogue_id()));
    Ok(before)
}

fn person(question: &ElicitRequest) -> ElicitReply {
    match question.message() {
        "Who?" => ElicitReply::accept(json!({"name": "Ada"})),
        _ => ElicitReply::accept(json!({"age": 36})),
    }
}

#[tokio::test]
async fn dialogue_id_is_stable_over_rounds_and_replicas() -> Result<()> {
    let replica = || Server::new("asker", "1.0.0").tools(tools![identify]).state_secrets([SECRET]);
    let mut ids = HashSet::new();
    for revision in ASK {
        let client = TestClient::builder(replica()).revision(revision).on_elicit(person);
        let client = client.new_server_per_round(replica).connect().await?;
        for _ in 0..3 {
            let id = client.call("identify", json!({})).await?;
            assert!(!id.is_error() && id.text().len() >= 22, "{revision}: {}", id.text());
            ids.insert(id.text());
        }
    }
    assert_eq!(ids.len(), 9, "each call has its own");
    Ok(())
}

/// Send the user to two pages, each with its visit in the URL.
#[tool]
async fn visit(ctx: &Context) -> Result<String> {
    let page = |visit: &str| format!("https://pay.example.com/?visit={visit}");
    let one = ctx.elicit_url_with("Pay.", page).await?;
    let two = ctx.elicit_url_with("Sign.", page).key("sign").await?;
    Ok(format!("{} {}", one.id(), two.id()))
}

#[tokio::test]
async fn visit_id_is_in_the_url_and_stable() -> Result<()> {
    let replica = || Server::new("asker", "1.0.0").tools(tools![visit]).state_secrets([SECRET]);
    for revision in URL {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let urls = Arc::clone(&asked);
        let user = move |question: &ElicitRequest| {
            urls.lock().unwrap().push(question.url().unwrap().to_owned());
            ElicitReply::accept(json!({}))
        };
        let client = TestClient::builder(replica()).revision(revision).on_elicit(user);
        let client = client.new_server_per_round(replica).connect().await?;
        let ids = client.call("visit", json!({})).await?.text();
        let (one, two) = ids.split_once(' ').expect(&ids);
        assert!(one != two && one.len() >= 22, "{ids}");
        let expected = [one, two].map(|id| format!("https://pay.example.com/?visit={id}"));
        assert_eq!(*asked.lock().unwrap(), expected, "{revision}");
    }
    Ok(())
}

/// Ask until the answer is fit, three times at most.
#[tool]
async fn careful(ctx: &Context) -> Result<String> {
    let adult = |person: &Age| if person.age < 18 { Err(format!("{} is too young", person.age)) } else { Ok(()) };
    let Age { age } = ctx.elicit("How old?").validate(adult).retries(2).await?;
    let Name { name } = ctx.elicit("Who?").await?;
    Ok(format!("{name} is {age}"))
}

/// Ask again inside of a task.
#[tool(task)]
async fn careful_task(ctx: &Context) -> Result<String> {
    assert!(ctx.is_task());
    let adult = |person: &Age| if person.age < 18 { Err("too young") } else { Ok(()) };
    let Age { age } = ctx.elicit("How old?").validate(adult).retries(1).await?;
    Ok(age.to_string())
}

#[tokio::test]
async fn unfit_answer_is_asked_for_again_in_a_task() -> Result<()> {
    for revision in URL {
        let (client, asked) = ages(revision, &[json!(7), json!(36)]);
        let answer = client.tasks().connect().await?.call("careful_task", json!({})).await?;
        assert_eq!(answer.text(), "36", "{revision}");
        assert_eq!(*asked.lock().unwrap(), ["How old?", "How old?\n\nPlease correct your answer: too young"]);
    }
    Ok(())
}

/// Do not ask again.
#[tool]
async fn strict(ctx: &Context) -> Result<String> {
    let odd = |person: &Age| if person.age.is_multiple_of(2) { Err("odd ages only") } else { Ok(()) };
    let Age { age } = ctx.elicit("How old?").validate(odd).await?;
    Ok(age.to_string())
}

/// A client that gives these answers to "How old?", and the messages it was asked with.
fn ages(revision: Revision, answers: &[Value]) -> (TestClientBuilder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (messages, mut answers) = (Arc::clone(&asked), Vec::from(answers).into_iter());
    let user = move |question: &ElicitRequest| {
        messages.lock().unwrap().push(question.message().to_owned());
        match question.message() {
            "Who?" => ElicitReply::accept(json!({"name": "Ada"})),
            _ => match answers.next().expect("an answer") {
                Value::Null => ElicitReply::decline(),
                age => ElicitReply::accept(json!({"age": age})),
            },
        }
    };
    let server = Server::new("asker", "1.0.0").tools(tools![careful, careful_task, strict]);
    (TestClient::builder(server).revision(revision).on_elicit(user), asked)
}

#[tokio::test]
async fn unfit_answer_is_asked_for_again_with_what_was_wrong() -> Result<()> {
    for revision in ASK {
        // Outside of the form's range, then rejected by the check.
        let (client, asked) = ages(revision, &[json!(500), json!(7), json!(36)]);
        let answer = client.connect().await?.call("careful", json!({})).await?;
        assert_eq!(answer.text(), "Ada is 36", "{revision}");
        let asked = asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 4, "{revision}: {asked:?}");
        assert_eq!(asked[0], "How old?");
        assert!(asked[1].starts_with("How old?\n\nPlease correct your answer: `age`"), "{revision}: {}", asked[1]);
        assert_eq!(asked[2], "How old?\n\nPlease correct your answer: 7 is too young", "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn retries_end_with_the_last_answer_or_a_refusal() -> Result<()> {
    for revision in ASK {
        let (client, asked) = ages(revision, &[json!(1), json!(2), json!(3), json!(36)]);
        let answer = client.connect().await?.call("careful", json!({})).await?;
        assert!(answer.is_error(), "{revision}");
        assert_eq!(answer.text(), "the answer does not fit the question: 3 is too young", "{revision}");
        assert_eq!(asked.lock().unwrap().len(), 3, "{revision}");
        let (client, asked) = ages(revision, &[json!(1), Value::Null]);
        let answer = client.connect().await?.call("careful", json!({})).await?;
        assert_eq!(answer.text(), "the user declined", "{revision}");
        assert_eq!(asked.lock().unwrap().len(), 2, "{revision}");
        let (client, asked) = ages(revision, &[json!(36)]);
        let answer = client.connect().await?.call("strict", json!({})).await?;
        assert_eq!(answer.text(), "the answer does not fit the question: odd ages only", "{revision}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{revision}");
    }
    Ok(())
}

/// Send the user to a page until the shop is paid.
struct Shop(Arc<Mutex<bool>>);

#[handlers]
impl Shop {
    /// Pay, and then say who you are.
    #[tool]
    async fn pay(&self, ctx: &Context) -> Result<String> {
        let paid = Arc::clone(&self.0);
        let check = move |_: &_| if *paid.lock().unwrap() { Ok(()) } else { Err("not paid yet") };
        ctx.elicit_url("Pay.", "https://pay.example.com/").validate(check).retries(3).await?;
        let Name { name } = ctx.elicit("Who?").await?;
        Ok(format!("{name} has paid"))
    }
}

/// A check that depends on the world may accept in a later run what it rejected before. The newest answer counts.
#[tokio::test]
async fn newest_answer_counts_when_the_check_changes() -> Result<()> {
    for revision in URL {
        for declines in [false, true] {
            let paid = Arc::new(Mutex::new(false));
            let server = Server::new("shop", "1.0.0").mount(Shop(Arc::clone(&paid)));
            let user = move |question: &ElicitRequest| match question.message() {
                "Who?" => ElicitReply::accept(json!({"name": "Ada"})),
                "Pay." => ElicitReply::accept(json!({})),
                _ => {
                    *paid.lock().unwrap() = true;
                    if declines { ElicitReply::decline() } else { ElicitReply::accept(json!({})) }
                }
            };
            let client = TestClient::builder(server).revision(revision).on_elicit(user).connect().await?;
            let expected = if declines { "the user declined" } else { "Ada has paid" };
            assert_eq!(client.call("pay", json!({})).await?.text(), expected, "{revision}");
        }
    }
    Ok(())
}

/// Ask with a timeout, and go on without an answer.
#[tool]
async fn hasty(ctx: &Context) -> Result<String> {
    let limit = Duration::from_millis(100);
    let name = match ctx.elicit::<Name>("Who?").timeout(limit).await {
        Ok(Name { name }) => name,
        Err(AskError::TimedOut(after)) if after == limit => "Nobody".to_owned(),
        Err(other) => return Err(other.into()),
    };
    let Age { age } = ctx.elicit("How old?").await?;
    Ok(format!("{name} is {age}"))
}

/// Ask with a timeout that is longer than the server's.
#[tool]
async fn patient(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").timeout(Duration::from_secs(10 * 60)).await?;
    Ok(name)
}

fn timed() -> Server {
    let mut limits = Limits::default();
    limits.answer_timeout = Duration::from_secs(1);
    Server::new("asker", "1.0.0").tools(tools![hasty, patient]).limits(limits)
}

fn answers(tool: &str, round: &Value, content: &Value) -> Value {
    let key = round["inputRequests"].as_object().expect("a question").keys().next().unwrap();
    let answers = json!({key: {"action": "accept", "content": content}});
    json!({"name": tool, "arguments": {}, "inputResponses": answers, "requestState": round["requestState"]})
}

#[tokio::test]
async fn timeout_of_an_ask_means_the_same_in_rounds() -> Result<()> {
    let mut limits = Limits::default();
    limits.answer_timeout = Duration::from_secs(10 * 60);
    let client = TestClient::builder(timed().limits(limits)).capability("elicitation", json!({})).connect().await?;
    let first = client.request("tools/call", json!({"name": "hasty", "arguments": {}})).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    // Too late: as in a session, the handler has gone on, and asks the next question.
    let second = client.request("tools/call", answers("hasty", &first, &json!({"name": "Ada"}))).await?;
    assert_eq!(second["inputRequests"]["ask-2"]["params"]["message"], "How old?", "{second}");
    let done = client.request("tools/call", answers("hasty", &second, &json!({"age": 36}))).await?;
    assert_eq!(done["content"][0]["text"], "Nobody is 36");
    Ok(())
}

#[tokio::test]
async fn timeout_longer_than_the_servers_keeps_the_state() -> Result<()> {
    let client = TestClient::builder(timed()).capability("elicitation", json!({})).connect().await?;
    let first = client.request("tools/call", json!({"name": "patient", "arguments": {}})).await?;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let done = client.request("tools/call", answers("patient", &first, &json!({"name": "Ada"}))).await?;
    assert_eq!(done["content"][0]["text"], "Ada");
    Ok(())
}

/// Write a poem about somebody.
#[prompt]
async fn poem(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("About whom?").await?;
    Ok(format!("A poem about {name}."))
}

#[tokio::test]
async fn declined_prompt_is_not_an_internal_error() -> Result<()> {
    for revision in ASK {
        for (reply, text) in [
            (ElicitReply::decline as fn() -> ElicitReply, "the user declined"),
            (ElicitReply::cancel, "the user dismissed the question without an answer"),
        ] {
            let server = Server::new("poet", "1.0.0").prompts(prompts![poem]);
            let client = TestClient::builder(server).revision(revision).on_elicit(move |_| reply()).connect().await?;
            let error = client.get_prompt("poem", json!({})).await.unwrap_err();
            assert_eq!((error.code(), error.to_string()), (Some(-1), text.to_owned()), "{revision}");
        }
    }
    Ok(())
}

/// Ask for a form.
#[tool]
async fn form(ctx: &Context) -> Result<String> {
    Ok(ctx.elicit::<Name>("Who?").await?.name)
}

#[tokio::test]
async fn missing_capability_names_the_mode() -> Result<()> {
    let server = || Server::new("asker", "1.0.0").tools(tools![form, visit]);
    for (declared, tool, mode) in [(json!({"url": {}}), "form", "form"), (json!({"form": {}}), "visit", "url")] {
        let client = TestClient::builder(server()).capability("elicitation", declared).connect().await?;
        let error = client.call(tool, json!({})).await.unwrap_err();
        let required = json!({"requiredCapabilities": {"elicitation": {mode: {}}}});
        assert_eq!((error.code(), error.data()), (Some(-32021), Some(&required)), "{tool}");
        assert!(error.to_string().contains(&format!("`elicitation.{mode}`")), "{error}");
    }
    Ok(())
}
