//! Errors of handlers: the error's own text with its sources, and never a backtrace.
#![allow(clippy::needless_question_mark, reason = "`?` is what is tested")]

use std::error::Error as StdError;
use std::num::ParseIntError;
use std::process::Command;

use anyhow::Context as _;
use mcp_runtime::prelude::*;

use crate::client;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot save the note")]
    Save(#[from] std::io::Error),
    #[error("not a number: {0}")]
    Parse(#[from] ParseIntError),
    #[error("note {id} is locked")]
    Locked { id: u64 },
    #[error(transparent)]
    Other(#[from] Box<Failure>),
}

fn disk() -> std::io::Result<String> {
    Err(std::io::Error::other("disk full"))
}

fn number() -> Result<i64, ParseIntError> {
    "x".parse()
}

type Boxed = Box<dyn StdError + Send + Sync>;

/// One tool that returns the error's own type, one that turns it into ours by `?`, sync and async.
macro_rules! failing {
    ($($own:ident, $question:ident, $later:ident: $error:ty = $work:expr => $text:literal;)*) => {
        $(
            #[tool]
            fn $own() -> Result<String, $error> {
                $work
            }

            #[tool]
            fn $question() -> mcp_runtime::Result<String> {
                Ok($own()?)
            }

            #[tool]
            async fn $later() -> Result<String> {
                tokio::task::yield_now().await;
                Ok($own()?)
            }
        )*

        #[tokio::test]
        async fn error_result_has_the_message_and_its_sources() {
            let tools = tools![$($own),*].into_iter().chain(tools![$($question),*]).chain(tools![$($later),*]);
            let client = client(tools).await;
            $(
                for name in [stringify!($own), stringify!($question), stringify!($later)] {
                    let result = client.call(name, json!({})).await.unwrap();
                    assert!(result.is_error(), "{name}");
                    assert_eq!(result.text(), $text, "{name}");
                    assert_eq!(result.content().len(), 1, "{name}");
                }
            )*
        }
    };
}

failing! {
    io, io_question, io_later: std::io::Error = disk() => "disk full";
    parse, parse_question, parse_later: ParseIntError =
        number().map(|n| n.to_string()) => "invalid digit found in string";
    save, save_question, save_later: Failure = Ok(disk()?) => "cannot save the note: disk full";
    // The message ends with its source already: the source is not repeated.
    inline, inline_question, inline_later: Failure =
        Ok(number()?.to_string()) => "not a number: invalid digit found in string";
    locked, locked_question, locked_later: Failure = Err(Failure::Locked { id: 7 }) => "note 7 is locked";
    transparent, transparent_question, transparent_later: Failure =
        Err(Box::new(Failure::from(disk().unwrap_err())).into()) => "cannot save the note: disk full";
    any, any_question, any_later: anyhow::Error = Err(anyhow::anyhow!("anything")) => "anything";
    context, context_question, context_later: anyhow::Error =
        disk().context("cannot save").with_context(|| "note 7") => "note 7: cannot save: disk full";
    source, source_question, source_later: anyhow::Error =
        Err(Failure::Save(disk().unwrap_err()).into()) => "cannot save the note: disk full";
    boxed, boxed_question, boxed_later: Boxed = Ok(disk()?) => "disk full";
    boxed_text, boxed_text_question, boxed_text_later: Boxed = Err("just text".into()) => "just text";
    owned, owned_question, owned_later: String = Err(format!("note {} is gone", 7)) => "note 7 is gone";
    borrowed, borrowed_question, borrowed_later: &'static str = Err("gone") => "gone";
    ours, ours_question, ours_later: Error = Err(Error::msg("ours")) => "ours";
    json_error, json_error_question, json_error_later: serde_json::Error =
        serde_json::from_str::<String>("{") => "invalid type: map, expected a string at line 1 column 0";
}

/// `anyhow` and panics capture backtraces under these variables, which a process cannot safely set
/// for itself: so the test above once more, in another process.
#[test]
fn error_result_has_no_backtrace() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "errors::error_result_has_the_message_and_its_sources"])
        .envs([("RUST_BACKTRACE", "1"), ("RUST_LIB_BACKTRACE", "1")])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

#[tool]
fn invalid() -> Result<String> {
    Err(Error::invalid_params("`id` is odd"))
}

#[tool]
fn internal() -> Result<String> {
    Err(Error::internal("the index is broken"))
}

#[tokio::test]
async fn protocol_errors_become_error_responses() {
    let client = client(tools![invalid, internal]).await;
    let error = client.call("invalid", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Some(-32602), "`id` is odd".into()));
    let error = client.call("internal", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Some(-32603), "the index is broken".into()));
}

#[tool]
fn panics() -> String {
    panic!("secret details")
}

#[tool]
async fn panics_later() -> String {
    tokio::task::yield_now().await;
    panic!("secret details")
}

#[tool(blocking)]
fn panics_elsewhere() -> String {
    panic!("secret details")
}

#[tokio::test]
async fn panic_becomes_an_error_result_without_details() {
    let client = client(tools![panics, panics_later, panics_elsewhere, io]).await;
    for name in ["panics", "panics_later", "panics_elsewhere"] {
        let result = client.call(name, json!({})).await.unwrap();
        assert!(result.is_error());
        assert!(!result.text().contains("secret"), "{}", result.text());
    }
    assert_eq!(client.call("io", json!({})).await.unwrap().text(), "disk full");
}
