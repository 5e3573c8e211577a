//! The scripts that run inside Redis: what has to be atomic, and is one round trip.

use std::sync::LazyLock;

use redis::{Cmd, ToRedisArgs};

/// A script, which is called by its hash.
pub(crate) struct Script {
    pub(crate) text: &'static str,
    hash: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Script { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }

    /// A call with this key, and those that are added.
    pub(crate) fn key(&'static self, key: impl ToRedisArgs) -> Call {
        let mut call = Call { script: self, keys: Vec::new(), args: Vec::new() };
        call.key(key);
        call
    }
}

/// A call of a script.
pub(crate) struct Call {
    pub(crate) script: &'static Script,
    keys: Vec<Vec<u8>>,
    args: Vec<Vec<u8>>,
}

impl Call {
    pub(crate) fn key(&mut self, key: impl ToRedisArgs) -> &mut Self {
        key.write_redis_args(&mut self.keys);
        self
    }

    pub(crate) fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        arg.write_redis_args(&mut self.args);
        self
    }

    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        self.keys.first().map(Vec::as_slice)
    }

    /// The command; it fails if the server does not know the script, which may have been restarted.
    pub(crate) fn command(&self) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.script.hash).arg(self.keys.len()).arg(&self.keys).arg(&self.args);
        command
    }
}

/// Declares the scripts, and `ALL` of them, which are loaded when a connection is made.
macro_rules! scripts {
    ($($name:ident = [$($file:literal),+];)+) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(concat!($(include_str!($file)),+)));)+
        /// The texts of all scripts.
        pub(crate) const ALL: &[&str] = &[$(concat!($(include_str!($file)),+)),+];
    };
}

scripts! {
    SESSION_UPDATE = ["lua/session_update.lua"];
    EVENT_TOUCH = ["lua/event_touch.lua"];
    EVENT_APPEND = ["lua/event_append.lua"];
    EVENT_CLOSE = ["lua/event_close.lua"];
    INBOX_PUSH = ["lua/inbox_push.lua"];
    LEASE_ACQUIRE = ["lua/lease_acquire.lua"];
    LEASE_RELEASE = ["lua/lease_release.lua"];
    TASK_CREATE = ["lua/tasks.lua", "lua/task_create.lua"];
    TASK_UPDATE = ["lua/tasks.lua", "lua/task_update.lua"];
    TASK_LIST = ["lua/tasks.lua", "lua/task_list.lua"];
    TASK_HELD = ["lua/tasks.lua", "lua/task_held.lua"];
    SECRET = ["lua/secret.lua"];
}
