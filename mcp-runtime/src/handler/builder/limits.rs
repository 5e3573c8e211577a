//! The limits of one handler: how often it is called, how many calls run at once, how long it may be silent.

use std::time::Duration;

use crate::call::progress::heartbeat::Accompany;
use crate::throttle::limiter::Limiter;
use crate::throttle::places::Concurrency;

/// The limits of a handler that has some.
#[derive(Debug, Default)]
pub(crate) struct HandlerLimits {
    /// Asked before each call. One pointer, because most handlers have none.
    pub(crate) throttle: Option<Box<Throttle>>,
    /// The time between heartbeats, instead of the server's.
    pub(crate) heartbeat: Option<Duration>,
    /// Sends heartbeats, if it is a handler that may wait. A pointer, so that a server without one has no code for it.
    pub(crate) accompany: Option<Accompany>,
}

/// What is asked before a call.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    pub(crate) rate: Option<Box<dyn Limiter>>,
    pub(crate) places: Option<Box<dyn Concurrency>>,
}
