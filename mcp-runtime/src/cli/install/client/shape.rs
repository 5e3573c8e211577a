//! [`Shape`]: how a client writes the entry of a server.

use serde_json::{Map, Value, json};

use super::launch::{Launch, URLS};
use super::scope::Scope;

/// How an entry of a client is written.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The value of `type` of a server on stdio.
    pub(super) stdio_type: Option<&'static str>,
    pub(super) program: ProgramMember,
    pub(super) env: &'static str,
    /// Clients that reach remote servers in another way have none.
    pub(super) remote: Option<RemoteMembers>,
    /// What stands beside it in a new entry. In an entry that exists, the user's values stay.
    pub(super) defaults: fn(name: &str, Scope) -> Value,
}

/// How the program and its arguments are written.
#[derive(Debug)]
pub(super) enum ProgramMember {
    /// The name of the program's member; the arguments are in `args`.
    Split(&'static str),
    /// One list, in `command`.
    List,
}

#[derive(Debug)]
pub(super) struct RemoteMembers {
    pub(super) kind: Option<&'static str>,
    pub(super) url: &'static str,
    pub(super) headers: &'static str,
}

impl Shape {
    /// The entry of a server, as the client wants it. None if remote servers are not in the client's file.
    pub(crate) fn entry(&self, name: &str, launch: &Launch, scope: Scope) -> Option<Map<String, Value>> {
        let mut entry = Map::new();
        let defaults = self.defaults_of(name, scope);
        // goose shows the members in this order: a name first
        entry.extend(defaults.iter().filter(|(member, _)| *member == "name").map(|(a, b)| (a.clone(), b.clone())));
        match launch {
            Launch::Command { command, args, env, directory } => {
                entry.extend(self.stdio_type.map(|kind| ("type".to_owned(), kind.into())));
                match self.program {
                    ProgramMember::Split(member) => {
                        entry.insert(member.to_owned(), command.as_str().into());
                        entry.insert("args".to_owned(), args.as_slice().into());
                    }
                    ProgramMember::List => {
                        let words = [std::slice::from_ref(command), args].concat();
                        entry.insert("command".to_owned(), words.into());
                    }
                }
                entry.extend(object(self.env, env));
                entry.extend(directory.as_ref().map(|path| ("cwd".to_owned(), path.as_str().into())));
            }
            Launch::Http { url, headers } => {
                let remote = self.remote.as_ref()?;
                entry.extend(remote.kind.map(|kind| ("type".to_owned(), kind.into())));
                entry.insert(remote.url.to_owned(), url.as_str().into());
                entry.extend(object(remote.headers, headers));
            }
        }
        for (member, value) in defaults {
            entry.entry(member).or_insert(value);
        }
        Some(entry)
    }

    /// An entry that exists, updated: the program, its arguments and the variables that are given change, and
    /// everything that the user has added stays. A server that moves from stdio to HTTP, or back, gets a new entry.
    pub(crate) fn updated(
        &self,
        existing: &Value,
        fresh: Map<String, Value>,
        (name, launch, scope): (&str, &Launch, Scope),
    ) -> Map<String, Value> {
        let known = Launch::read(existing);
        let Value::Object(existing) = existing else { return fresh };
        if known.is_none_or(|known| known.is_http() != launch.is_http()) {
            return fresh;
        }
        let defaults = self.defaults_of(name, scope);
        // clients know several words for stdio, and need none: the command says it
        let is_same_type = |member: &str| member == "type" && !launch.is_http();
        let mut updated = Map::new();
        for (member, value) in existing {
            let value = match (fresh.get(member), value) {
                (Some(_), value) if defaults.contains_key(member) || is_same_type(member) => value.clone(),
                (Some(Value::Object(given)), Value::Object(old)) => {
                    let mut both = old.clone();
                    both.extend(given.clone());
                    both.into()
                }
                // an older way to write the endpoint
                (None, _) if launch.is_http() && (member == "type" || URLS.contains(&member.as_str())) => continue,
                (Some(value), _) | (None, value) => value.clone(),
            };
            updated.insert(member.clone(), value);
        }
        for (member, value) in fresh.into_iter().filter(|(member, _)| !is_same_type(member)) {
            updated.entry(member).or_insert(value);
        }
        updated
    }

    fn defaults_of(&self, name: &str, scope: Scope) -> Map<String, Value> {
        match (self.defaults)(name, scope) {
            Value::Object(defaults) => defaults,
            _ => Map::new(),
        }
    }
}

fn object(name: &str, pairs: &[(String, String)]) -> Option<(String, Value)> {
    let members: Map<String, Value> = pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    (!members.is_empty()).then(|| (name.to_owned(), members.into()))
}
