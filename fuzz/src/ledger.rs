//! The ledger of a conversation: which responses each sent message requires.

use std::collections::HashMap;

use mcp_runtime::fuzzing::{Parsed, id_in_prefix, parse, parse_batch, prefix_is_response};

use crate::server::{BATCH, MESSAGE_BYTES};
use crate::wire::{self, Said};

const NULL: &str = "null";

/// The number of responses expected and received for one id.
#[derive(Debug, Default, Clone, Copy)]
struct Account {
    least: usize,
    most: usize,
    cancellations: usize,
    answers: usize,
}

/// Whether arrays are batches at some point of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batches {
    No,
    Perhaps,
    Yes,
}

/// The accounts of a whole conversation.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<String, Account>,
    exited: bool,
}

impl Ledger {
    /// Records everything that was sent and everything the server answered.
    pub fn new(sent: &[u8], said: &[Said<'_>], ends_on_request: bool) -> Self {
        let mut ledger = Ledger::default();
        for said in said {
            if let Said::Answer { id, .. } = said {
                ledger.account(id).answers += 1;
            }
        }
        // Arrays are batches in a session that the one successful `initialize` opens, identified by its id. If
        // several requests have that id, arrays after the first are ambiguous.
        let opener = said.iter().find_map(|said| match said {
            Said::Answer { id, result: Some(result) } if opens_batches(result) => Some(id.as_str()),
            _ => None,
        });
        let opens = |line: &[u8]| match parse(unmarked(line)) {
            Parsed::Request { id, method, .. } => method == "initialize" && opener == Some(&wire::key(id)),
            _ => false,
        };
        let lines = || sent.split(|byte| *byte == b'\n');
        let then = if lines().filter(|line| opens(line)).count() > 1 { Batches::Perhaps } else { Batches::Yes };
        let mut batches = Batches::No;
        for line in lines() {
            ledger.line(line, batches);
            if opens(line) {
                batches = then;
            }
            if ledger.exited && ends_on_request {
                break;
            }
        }
        ledger.exited &= ends_on_request;
        ledger
    }

    fn account(&mut self, id: &str) -> &mut Account {
        self.accounts.entry(wire::key(id)).or_default()
    }

    fn line(&mut self, line: &[u8], batches: Batches) {
        if line.len() > MESSAGE_BYTES {
            let beginning = &line[..MESSAGE_BYTES];
            // Oversized: the response has the id if the prefix contains it; a response is not answered.
            let id = id_in_prefix(beginning).unwrap_or(NULL);
            if !prefix_is_response(beginning) {
                self.owe(id, true);
            }
            return;
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        let line = unmarked(line);
        let message = parse(line);
        let is_list = line.trim_ascii_start().first() == Some(&b'[');
        if !is_list || batches == Batches::No {
            return self.message(&message, true);
        }
        if batches == Batches::Perhaps {
            self.message(&message, false);
        }
        match parse_batch(line, BATCH) {
            Ok(messages) => messages.iter().for_each(|message| self.message(message, batches == Batches::Yes)),
            Err(rejected) => self.message(&rejected, batches == Batches::Yes),
        }
    }

    fn message(&mut self, message: &Parsed<'_>, certain: bool) {
        match message {
            Parsed::Request { id, .. } | Parsed::Rejected { id, .. } => self.owe(id, certain),
            Parsed::Notification { method, params } if method == "notifications/cancelled" => {
                let params = params.and_then(wire::members).unwrap_or_default();
                if let Some(id) = params.get("requestId") {
                    self.account(id.get()).cancellations += 1;
                }
            }
            Parsed::Notification { method, .. } => self.exited |= method == "exit",
            Parsed::Response => {}
        }
    }

    fn owe(&mut self, id: &str, certain: bool) {
        let account = self.account(id);
        account.least += usize::from(certain);
        account.most += 1;
    }

    /// Asserts that every request has one response, a cancelled one at most one, and nothing else any.
    pub fn check(&self) {
        for (id, account) in &self.accounts {
            let Account { least, most, cancellations, answers } = *account;
            assert!(answers <= most, "{answers} answers to {most} requests with id {id}");
            if !self.exited {
                let least = least.saturating_sub(cancellations);
                assert!(answers >= least, "{answers} answers where {least} are owed to id {id}");
            }
        }
    }

    /// Whether exactly one request has this id, and it was not cancelled.
    pub fn is_sole(&self, id: &str) -> bool {
        !self.exited && self.accounts.get(&wire::key(id)).is_some_and(|it| it.most == 1 && it.cancellations == 0)
    }
}

/// A line without the byte order mark it may begin with.
fn unmarked(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

fn opens_batches(result: &str) -> bool {
    wire::members(result)
        .is_some_and(|result| result.get("protocolVersion").is_some_and(|raw| raw.get() == "\"2025-03-26\""))
}
