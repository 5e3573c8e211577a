//! Entry points for the fuzz targets in `fuzz/`; compiled with `--cfg fuzzing` only.

#[cfg(feature = "auth")]
pub mod token;

use std::borrow::Cow;

use crate::era::{batch, encode};
use crate::jsonrpc::raw::Raw;
use crate::jsonrpc::{self, Id, Message, Notification, Rejection, Request};

/// A parsed frame.
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
    /// The id of the error response, and the response itself.
    Rejected {
        id: &'a str,
        line: Vec<u8>,
    },
}

/// Parses one frame.
pub fn parse(frame: &[u8]) -> Parsed<'_> {
    parsed(jsonrpc::parse(frame))
}

/// Parses a batch of at most `limit` messages.
pub fn parse_batch(frame: &[u8], limit: usize) -> Result<Vec<Parsed<'_>>, Parsed<'_>> {
    let elements = batch::elements(frame, limit).map_err(rejected)?;
    Ok(elements.into_iter().map(|raw| parsed(batch::element(raw))).collect())
}

/// The id in the prefix of an oversized frame.
pub fn id_in_prefix(prefix: &[u8]) -> Option<&str> {
    jsonrpc::id_in_prefix(prefix).map(Id::as_str)
}

/// Whether an oversized frame is a response, by its prefix.
pub fn prefix_is_response(prefix: &[u8]) -> bool {
    jsonrpc::prefix_is_response(prefix)
}

/// The members of an object that is known to be valid JSON; `None` if a key cannot be decoded.
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
