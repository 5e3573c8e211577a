//! Names of keys: the prefix of the application, what the key holds, and a hash of its id.
//!
//! Ids of sessions, streams and tasks are credentials, and names of keys appear in slow logs, `MONITOR` and backups, so
//! a name has the SHA-256 of the id. The part in braces decides about the slot in a cluster: the keys that a script uses
//! share it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{Context, SHA256};

/// The names of one application's keys.
#[derive(Debug)]
pub(crate) struct Names {
    prefix: String,
    database: i64,
}

/// The keys of a stream of events.
pub(crate) struct StreamNames {
    /// Exists as long as the stream is known.
    pub(crate) head: String,
    pub(crate) events: String,
    /// Tells of changes. It has the database in it, because channels are shared by all databases of a server.
    pub(crate) channel: String,
}

/// The keys of the inbox of a session.
pub(crate) struct InboxNames {
    pub(crate) messages: String,
    /// How many bytes the messages have.
    pub(crate) bytes: String,
}

impl Names {
    pub(crate) fn new(prefix: String, database: i64) -> Self {
        Names { prefix, database }
    }

    pub(crate) fn session(&self, id: &str) -> String {
        format!("{}:session:{{{}}}", self.prefix, hash("session", id))
    }

    pub(crate) fn stream(&self, name: &str) -> StreamNames {
        let hash = hash("stream", name);
        let key = |what| format!("{}:{what}:{{{hash}}}", self.prefix);
        let channel = format!("{}:stream:{}:{hash}", self.prefix, self.database);
        StreamNames { head: key("head"), events: key("events"), channel }
    }

    pub(crate) fn lease(&self, name: &str) -> String {
        format!("{}:lease:{{{}}}", self.prefix, hash("lease", name))
    }

    pub(crate) fn inbox(&self, session: &str) -> InboxNames {
        let hash = hash("inbox", session);
        let key = |what| format!("{}:{what}:{{{hash}}}", self.prefix);
        InboxNames { messages: key("inbox"), bytes: key("inbox-bytes") }
    }

    /// What the names of all keys of tasks begin with. They share a slot: a quota holds for all tasks, so that one
    /// script has to see all of them.
    pub(crate) fn tasks(&self) -> String {
        format!("{0}:tasks:{{{0}}}:", self.prefix)
    }

    pub(crate) fn secret(&self, name: &str) -> String {
        format!("{}:secret:{{{}}}", self.prefix, hash("secret", name))
    }

    /// The channel of changes. Unlike keys, channels are shared by all databases of a server.
    pub(crate) fn channel(&self) -> String {
        format!("{}:changes:{}", self.prefix, self.database)
    }
}

/// The hash of an id; ids of different kinds have different ones.
pub(crate) fn hash(kind: &str, id: &str) -> String {
    let mut context = Context::new(&SHA256);
    for part in [kind, "\0", id] {
        context.update(part.as_bytes());
    }
    BASE64.encode(context.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind_and_not_the_id() {
        let names = Names::new("notes".into(), 0);
        let (session, stream) = (names.session("secret-id"), names.stream("secret-id"));
        assert!(session.starts_with("notes:session:{") && !session.contains("secret-id"), "{session}");
        let slot = |key: &str| key[key.find('{').unwrap()..].to_owned();
        assert_eq!(slot(&stream.head), slot(&stream.events));
        assert_ne!(slot(&session), slot(&stream.head));
        let inbox = names.inbox("secret-id");
        assert_eq!(slot(&inbox.messages), slot(&inbox.bytes));
        assert_ne!(inbox.messages, inbox.bytes);
    }
}
