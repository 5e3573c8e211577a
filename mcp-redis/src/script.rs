//! The scripts that run inside Redis: what has to be atomic, and is one round trip.

use std::sync::LazyLock;

use redis::Script;

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
