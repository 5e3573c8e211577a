//! Which of several requests that wait for a task's result asks a question of the task: a user is asked once.
//!
//! A claim is lost to another waiter when its client has left its stream, because the question may never be read there.
//! Replicas do not know of each other's claims.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::call::outbox::presence::Presence;
use crate::sync::lock;

/// The questions that are being asked, by task and key.
#[derive(Debug, Default)]
pub(crate) struct QuestionClaims {
    table: Mutex<ClaimTable>,
    /// Counts the claims that were released.
    released: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ClaimTable {
    claims: HashMap<(Box<str>, Box<str>), Claimed>,
    last: u64,
}

#[derive(Debug)]
struct Claimed {
    number: u64,
    /// `None` on a connection, which ends when its client leaves.
    presence: Option<Presence>,
}

/// The right to ask a question, until it is dropped or lost.
#[derive(Debug)]
pub(crate) struct QuestionClaim {
    claims: Arc<QuestionClaims>,
    name: (Box<str>, Box<str>),
    number: u64,
}

/// Another waiter asks the question. Present while its client may leave.
#[derive(Debug)]
pub(crate) struct AskedElsewhere(pub(crate) Option<Presence>);

impl QuestionClaims {
    /// Claims a question for a waiter, unless another one asks it.
    pub(crate) fn claim(
        self: &Arc<Self>,
        task: &str,
        key: &str,
        presence: Option<&Presence>,
    ) -> Result<QuestionClaim, AskedElsewhere> {
        let mut table = lock(&self.table);
        let name = (task.into(), key.into());
        if let Some(claimed) = table.claims.get(&name) {
            let has_left = |presence: &Presence| !presence.is_present();
            if !claimed.presence.as_ref().is_some_and(has_left) || presence.is_some_and(has_left) {
                return Err(AskedElsewhere(claimed.presence.clone()));
            }
        }
        table.last += 1;
        let number = table.last;
        table.claims.insert(name.clone(), Claimed { number, presence: presence.cloned() });
        Ok(QuestionClaim { claims: Arc::clone(self), name, number })
    }

    /// Whether the claim with this number is held.
    pub(crate) fn holds(&self, task: &str, key: &str, number: u64) -> bool {
        let name = (task.into(), key.into());
        lock(&self.table).claims.get(&name).is_some_and(|claimed| claimed.number == number)
    }

    /// A receiver of releases from now on.
    pub(crate) fn releases(&self) -> watch::Receiver<u64> {
        self.released.subscribe()
    }
}

impl QuestionClaim {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for QuestionClaim {
    fn drop(&mut self) {
        let mut table = lock(&self.claims.table);
        if table.claims.get(&self.name).is_some_and(|claimed| claimed.number == self.number) {
            table.claims.remove(&self.name);
            drop(table);
            self.claims.released.send_modify(|released| *released += 1);
        }
    }
}
