//! [`Store`]: the notes of all users, in memory. What a user can make it hold is bounded, and so is the number of users.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_runtime::auth::User;
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

const MOST_USERS: usize = 1000;
const MOST_NOTES: usize = 100;

/// A note of a user.
#[derive(Serialize, JsonSchema)]
pub struct Note {
    pub id: String,
    pub text: String,
}

/// Whose notes they are. Not the client's: a user sees the same notes with all of their clients.
#[derive(PartialEq, Eq, Hash)]
struct Owner {
    issuer: String,
    subject: String,
}

impl Owner {
    fn of(user: &User) -> Self {
        Owner { issuer: user.issuer().to_owned(), subject: user.subject().to_owned() }
    }
}

/// By their ids.
type Notes = BTreeMap<String, String>;

#[derive(Default)]
pub struct Store(Mutex<HashMap<Owner, Notes>>);

impl Store {
    pub fn all(&self, user: &User) -> Vec<Note> {
        let notes = self.lock();
        let notes = notes.get(&Owner::of(user)).into_iter().flatten();
        notes.map(|(id, text)| Note { id: id.clone(), text: text.clone() }).collect()
    }

    pub fn get(&self, user: &User, id: &str) -> Option<String> {
        self.lock().get(&Owner::of(user))?.get(id).cloned()
    }

    pub fn put(&self, user: &User, id: String, text: String) -> Result<()> {
        let mut users = self.lock();
        let (owner, is_full) = (Owner::of(user), users.len() >= MOST_USERS);
        if is_full && !users.contains_key(&owner) {
            return Err(format!("the notebooks of {MOST_USERS} users are taken: nobody else can write notes").into());
        }
        let notes = users.entry(owner).or_default();
        if notes.len() >= MOST_NOTES && !notes.contains_key(&id) {
            return Err(format!("you have {MOST_NOTES} notes, as many as a user can have: delete one first").into());
        }
        notes.insert(id, text);
        Ok(())
    }

    /// Returns whether there was such a note.
    pub fn remove(&self, user: &User, id: &str) -> bool {
        let mut users = self.lock();
        let owner = Owner::of(user);
        let Some(notes) = users.get_mut(&owner) else { return false };
        let was_there = notes.remove(id).is_some();
        if notes.is_empty() {
            users.remove(&owner);
        }
        was_there
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, Notes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_and_users_are_bounded() {
        let store = Store::default();
        let alice = User::new("alice");
        for n in 0..MOST_NOTES {
            store.put(&alice, n.to_string(), String::new()).unwrap();
        }
        let full = store.put(&alice, "more".into(), String::new()).unwrap_err();
        assert!(full.to_string().contains("delete one first"), "{full}");
        store.put(&alice, "0".into(), "changed".into()).unwrap();

        for n in 1..MOST_USERS {
            store.put(&User::new(n.to_string()), "a".into(), String::new()).unwrap();
        }
        let bob = User::new("bob");
        let full = store.put(&bob, "a".into(), String::new()).unwrap_err();
        assert!(full.to_string().contains("1000 users"), "{full}");
        assert!(store.remove(&User::new("1"), "a"), "the last note of a user");
        store.put(&bob, "a".into(), String::new()).unwrap();
    }

    #[test]
    fn subjects_of_two_issuers_are_two_users() {
        let store = Store::default();
        let [here, there] = ["https://here", "https://there"].map(|issuer| User::new("alice").with_issuer(issuer));
        store.put(&here, "a".into(), "mine".into()).unwrap();
        assert_eq!(store.get(&there, "a"), None);
        assert_eq!(store.get(&here.with_client_id("another"), "a").as_deref(), Some("mine"));
    }
}
