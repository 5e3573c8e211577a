//! The message parser as the fuzz targets in `fuzz/` see it; compiled with `--cfg fuzzing` only.

use std::borrow::Cow;

use crate::era::{batch, encode};
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{self, Id, Message, Notification, Rejection, Request};

/// What the parser made of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    Request {
        id: &'a str,
        method: Cow<'a, str>,
        params: Option<&'a str>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a str>,
    },
    Response,
    /// The id it is answered with, and the line of the answer.
    Rejected {
        id: &'a str,
        line: Vec<u8>,
    },
}

/// Reads one frame.
pub fn parse(frame: &[u8]) -> Parsed<'_> {
    parsed(jsonrpc::parse(frame))
}

/// Reads a frame with several messages, at most `limit`.
pub fn parse_batch(frame: &[u8], limit: usize) -> Result<Vec<Parsed<'_>>, Parsed<'_>> {
    let elements = batch::elements(frame, limit).map_err(rejected)?;
    Ok(elements.into_iter().map(|raw| parsed(batch::element(raw))).collect())
}

/// The id in the beginning of a frame that is too long.
pub fn id_of_beginning(beginning: &[u8]) -> Option<&str> {
    jsonrpc::id_in_prefix(beginning).map(Id::as_str)
}

/// Whether a frame that is too long is an answer.
pub fn begins_an_answer(beginning: &[u8]) -> bool {
    jsonrpc::prefix_is_response(beginning)
}

/// The members of an object that was read as JSON before; none if one of its keys is no text.
pub fn members(object: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    Raw::new_unchecked(object).members().map(|member| member.ok().map(|(key, value)| (key, value.get()))).collect()
}

fn parsed<'a>(message: Result<Message<'a>, Rejection<'a>>) -> Parsed<'a> {
    match message {
        Ok(Message::Request(Request { id, method, params })) => {
            Parsed::Request { id: id.as_str(), method, params: params.map(Raw::get) }
        }
        Ok(Message::Notification(Notification { method, params })) => {
            Parsed::Notification { method, params: params.map(Raw::get) }
        }
        Ok(Message::Response(_)) => Parsed::Response,
        Err(rejection) => rejected(rejection),
    }
}

fn rejected(Rejection { id, error }: Rejection<'_>) -> Parsed<'_> {
    let mut line = Vec::new();
    encode::error(id, &error, &mut line);
    Parsed::Rejected { id: id.as_str(), line }
}
