//! A handler that asks behaves alike in a session, in rounds that each reach another server, and as a task of either
//! era.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::testing::{ElicitReply, ElicitRequest, TestClient, TestClientBuilder};
use mcp_runtime::{Revision, prelude::*};
use proptest::prelude::any;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use super::program::{Step, program};
use super::stage::{Journal, Stage, effects};
use super::{property, runtime};

const SECRET: &str = "the secret of these tests, long enough";

/// What a play came to.
#[derive(Debug, PartialEq)]
struct Transcript {
    journal: Vec<String>,
    result: String,
    is_error: bool,
}

fn server(journal: &Arc<Journal>) -> Server {
    Server::new("stage", "1.0.0").state_secrets([SECRET]).mount(Stage(Arc::clone(journal)))
}

/// The same for the same question, and for nothing else.
pub(super) fn dice(seed: u64, question: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    let hash = question.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash ^ (hash >> 32)
}

/// A client whose answers depend on the question alone.
fn client(revision: Revision, seed: u64, journal: &Arc<Journal>) -> TestClientBuilder {
    let (forms, samples, servers) = (Arc::clone(journal), Arc::clone(journal), Arc::clone(journal));
    TestClient::builder(server(journal))
        .revision(revision)
        .on_elicit(move |question: &ElicitRequest| {
            forms.note(format!("asked {}", question.message()));
            let dice = dice(seed, question.message());
            match dice % 12 {
                0 => ElicitReply::decline(),
                1 => ElicitReply::cancel(),
                2 => ElicitReply::accept(json!({"yes": true, "number": 100})),
                _ => ElicitReply::accept(json!({"yes": dice & 64 == 0, "number": dice / 128 % 20})),
            }
        })
        .on_sample(move |params: &Value| {
            let text = params["messages"][0]["content"]["text"].as_str().unwrap();
            samples.note(format!("asked {text}"));
            "x".repeat(usize::try_from(dice(seed, text) % 20).unwrap())
        })
        .roots([("file:///a", "A"), ("file:///b", "B")])
        .new_server_per_round(move || server(&servers))
}

async fn play(revision: Revision, as_task: bool, seed: u64, program: &[Step]) -> Result<Transcript> {
    let journal = Arc::default();
    let client = client(revision, seed, &journal).connect().await?;
    let arguments = json!({"program": program});
    let playing = async {
        if as_task {
            client.start_task("play_on", arguments).await?.result().await
        } else {
            client.call("play", arguments).await
        }
    };
    let result = tokio::time::timeout(Duration::from_secs(10), playing).await??;
    Ok(Transcript { journal: journal.read(), result: result.text(), is_error: result.is_error() })
}

/// The transcripts of a program: in a session, in rounds, and as tasks.
async fn all(seed: u64, program: &[Step]) -> Result<[Transcript; 4]> {
    use Revision::{V2025_11_25, V2026_07_28};
    Ok([
        play(V2025_11_25, false, seed, program).await?,
        play(V2026_07_28, false, seed, program).await?,
        play(V2025_11_25, true, seed, program).await?,
        play(V2026_07_28, true, seed, program).await?,
    ])
}

#[test]
fn asking_handler_behaves_alike_in_every_revision() {
    let runtime = runtime();
    property(60, &(program(), any::<u64>()), |(program, seed)| {
        let played = runtime.block_on(all(seed, &program));
        let [session, others @ ..] = played.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let twice = effects(&session.journal).into_iter().find(|(_, times)| *times > 1);
        if let Some((effect, times)) = twice {
            return Err(TestCaseError::fail(format!("{effect}: {times} times")));
        }
        for (other, how) in others.iter().zip(["in rounds", "as a task of 2025-11-25", "as a task of 2026-07-28"]) {
            if *other != session {
                return Err(TestCaseError::fail(format!("in a session {session:#?}\n{how} {other:#?}")));
            }
        }
        Ok(())
    });
}

/// Fixed programs, besides the random ones.
#[tokio::test]
async fn known_programs_ask_and_act_as_expected() -> Result<()> {
    let (ask, once) = (Step::Elicit { strict: false }, Step::Once { turns: 2, each_time: false });
    let program = [once.clone(), ask.clone(), Step::Join(vec![ask, Step::Sample], vec![Step::Pause, once])];
    for transcript in all(7, &program).await? {
        let told: Vec<&str> = transcript.journal.iter().map(|entry| entry.split(" knows").next().unwrap()).collect();
        let expected = ["did .0", "asked .1", "begin .2", "asked .2.0.0", "asked .2.0.1", "did .2.1.1", "end .2"];
        assert_eq!(told, expected);
        assert!(!transcript.is_error, "{transcript:?}");
    }
    for transcript in all(7, &[Step::OnceAsks]).await? {
        assert!(transcript.is_error && transcript.result.contains("inside of `ctx.once`"), "{transcript:?}");
    }
    Ok(())
}
