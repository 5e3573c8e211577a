//! The last steps of a [`HandlerBuilder`]: the function to call, the reply that its return value becomes, and its limits.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use super::args::Args;
use super::builder::limits::Throttle;
use super::builder::{HandlerBuilder, HandlerKind};
use crate::call::invocation::Origin;
use crate::call::progress::heartbeat;
use crate::outcome::{ArgumentErrors, Outcome, Step};
use crate::throttle::limiter::RateLimits;
use crate::throttle::places::Places;
use crate::throttle::rate::RateLimit;

/// A declared return type `R`: how it becomes a reply of kind `K`.
///
/// Like a [`Key`], it is created where the type is written, so the compiler reports an unsupported
/// type there, once; functions that take a `ReturnType` need no bound.
pub struct ReturnType<K: HandlerKind, R> {
    pub(crate) reply: fn(R, &K::ReplyInfo) -> Outcome,
}

impl<K: HandlerKind, R> ReturnType<K, R> {
    /// Converts a return value that borrows.
    pub fn convert(self, value: R, info: &K::ReplyInfo) -> Converted {
        Converted((self.reply)(value, info))
    }
}

/// A return value that has become the outcome of its call.
#[derive(Debug)]
pub struct Converted(Outcome);

impl<K: HandlerKind, R> fmt::Debug for ReturnType<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<R>())
    }
}

impl<K: HandlerKind> HandlerBuilder<K> {
    /// Finishes with a sync function, run where the message was read.
    pub fn sync<R, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        F: Fn(&Args<'_>, Origin<'_>) -> Result<R, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.build(move |args, invocation| Ok(Step::Ready(reply(function(args, invocation)?, &info(invocation)))))
    }

    /// Finishes with an async function.
    pub fn future<R, Fut, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        Fut: Future<Output = R> + Send + 'static,
        F: Fn(&Args<'_>, Origin<'_>) -> Result<Fut, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.waits().build(move |args, invocation| {
            let (future, info) = (function(args, invocation)?, info(invocation));
            Ok(Step::Future(Box::pin(async move { reply(future.await, &info) })))
        })
    }

    /// Finishes with a long-running sync function, run on a thread of its own.
    pub fn blocking<R, Work, F>(self, ReturnType { reply }: ReturnType<K, R>, function: F) -> K::Item
    where
        R: 'static,
        Work: FnOnce() -> R + Send + 'static,
        F: Fn(&Args<'_>, Origin<'_>) -> Result<Work, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.waits().build(move |args, invocation| {
            let (work, info) = (function(args, invocation)?, info(invocation));
            Ok(Step::Blocking(Box::new(move || reply(work(), &info))))
        })
    }

    /// Finishes with a sync function whose return value borrows: from the state, the context or an argument. The
    /// closure converts the value, while its owner lives, so that its type is no part of the closure's type.
    pub fn sync_borrowed<F>(self, function: F) -> K::Item
    where
        F: Fn(&Args<'_>, Origin<'_>, K::ReplyInfo) -> Result<Converted, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.build(move |args, invocation| Ok(Step::Ready(function(args, invocation, info(invocation))?.0)))
    }

    /// Finishes with an async function whose return value borrows.
    pub fn future_borrowed<Fut, F>(self, function: F) -> K::Item
    where
        Fut: Future<Output = Converted> + Send + 'static,
        F: Fn(&Args<'_>, Origin<'_>, K::ReplyInfo) -> Result<Fut, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.waits().build(move |args, invocation| {
            let future = function(args, invocation, info(invocation))?;
            Ok(Step::Future(Box::pin(async move { future.await.0 })))
        })
    }

    /// Finishes with a long-running sync function whose return value borrows.
    pub fn blocking_borrowed<Work, F>(self, function: F) -> K::Item
    where
        Work: FnOnce() -> Converted + Send + 'static,
        F: Fn(&Args<'_>, Origin<'_>, K::ReplyInfo) -> Result<Work, ArgumentErrors> + Send + Sync + 'static,
    {
        let info = self.kind.reply_info();
        self.waits().build(move |args, invocation| {
            let work = function(args, invocation, info(invocation))?;
            Ok(Step::Blocking(Box::new(move || work().0)))
        })
    }
}

/// Its limits.
impl<K: HandlerKind> HandlerBuilder<K> {
    fn throttle(&mut self) -> &mut Throttle {
        self.limits.throttle.get_or_insert_default()
    }

    /// Limits how often each caller is served.
    pub fn rate(&mut self, limit: RateLimit) {
        if let Some(problem) = limit.problem() {
            self.input.problem(problem.to_owned());
        }
        match &mut self.throttle().rate {
            Some(limits) => limits.add(limit),
            none => *none = Some(Box::new(RateLimits::new(limit))),
        }
    }

    /// Limits how many calls run at once.
    pub fn max_concurrent(&mut self, most: usize) {
        if most == 0 {
            self.input.problem("`max_concurrent` must be at least 1".to_owned());
        }
        self.throttle().places = Some(Box::new(Places::new(most)));
    }

    /// Sets the time between heartbeats.
    pub fn heartbeat_ms(&mut self, millis: u64) {
        self.heartbeat(Duration::from_millis(millis));
    }

    /// Sets the time between heartbeats.
    pub(super) fn heartbeat(&mut self, every: Duration) {
        self.limits.heartbeat = Some(every);
    }

    /// Records that calls may have to wait.
    pub(super) fn waits(mut self) -> Self {
        self.limits.accompany = Some(heartbeat::accompany);
        self
    }
}

#[cfg(feature = "auth")]
impl<K: HandlerKind> HandlerBuilder<K> {
    /// Adds scopes that a caller must have.
    pub fn scopes<S: Into<String>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        for scope in scopes {
            let scope = scope.into().into_boxed_str();
            if let Err(problem) = crate::auth::check_scope(&scope) {
                self.input.problem(problem);
            }
            if !self.scopes.contains(&scope) {
                self.scopes.push(scope);
            }
        }
    }
}

/// The feature `auth`; implemented for no type.
#[cfg(not(feature = "auth"))]
#[diagnostic::on_unimplemented(
    message = "`scopes` needs the feature `auth` of mcp-runtime",
    label = "needs the feature `auth`",
    note = "in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"auth\"] }}`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#a-feature-is-off"
)]
pub trait AuthFeature<'a> {}

#[cfg(not(feature = "auth"))]
impl<K: HandlerKind> HandlerBuilder<K> {
    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn scopes<const N: usize>(&mut self, _scopes: [&str; N])
    where
        for<'a> Self: AuthFeature<'a>,
    {
        unreachable!("no builder has the feature")
    }
}
