//! What a handler can know of the call it serves.

use std::sync::Arc;

use serde::Serialize;

use super::invocation::{FromInvocation, Invocation};
use super::notifier::Notifier;
use super::progress::{Amount, Progress, Total};
use crate::ask::Dialogue;
use crate::call::telemetry::trace_context;
use crate::era::CAPABILITIES;
use crate::era::client_info::ClientInfo;
use crate::era::encode::notification;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::{LogLevel, Revision};
use crate::server::handle::ServerHandle;

/// The call a handler serves: who asks, in which revision, with which metadata.
///
/// A handler that wants it takes it by reference:
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// Greet the client by its name.
/// #[tool]
/// fn whoami(ctx: &Context) -> String {
///     format!("you are {}", ctx.client_name().unwrap_or("nobody I know"))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    request_id: Box<str>,
    revision: Revision,
    client: Arc<ClientInfo>,
    meta: Option<Box<str>>,
    log_level: Option<LogLevel>,
    progress: Option<Arc<Progress>>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) dialogue: Arc<Dialogue>,
    principal: Option<Arc<str>>,
    server: ServerHandle,
    #[cfg(feature = "http")]
    http: Option<Arc<http::request::Parts>>,
    #[cfg(feature = "http")]
    resumable: bool,
}

impl Context {
    /// The JSON text of the request's id.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The revision the client speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The client's name for itself. A label, not an identity.
    pub fn client_name(&self) -> Option<&str> {
        self.client.name()
    }

    /// The client's version.
    pub fn client_version(&self) -> Option<&str> {
        self.client.version()
    }

    /// What the client says it can do, by the capability's name: the JSON text of its settings.
    ///
    /// In 2026-07-28 every request says it, before that the session did.
    pub fn client_capability(&self, name: &str) -> Option<&str> {
        let all = if self.revision.is_stateless() {
            self.meta(CAPABILITIES)?
        } else {
            self.client.initialize_param("capabilities")?
        };
        member(all, name)
    }

    /// Who makes the call, where a layer in front has found out and
    /// [`HttpService::principal`](crate::http::HttpService::principal) says so. None on stdio.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// The JSON text of anything else the client said when it opened its session, like the `rootUri`
    /// of clients that have it from the Language Server Protocol. Nothing to base decisions of access on.
    pub fn initialize_param(&self, name: &str) -> Option<&str> {
        self.client.initialize_param(name)
    }

    /// The JSON text of one entry of the request's `_meta`.
    pub fn meta(&self, key: &str) -> Option<&str> {
        member(self.meta.as_deref()?, key)
    }

    /// The span of the client's trace this call belongs to, if the client sent one of the form the
    /// [W3C](https://www.w3.org/TR/trace-context/) gives it.
    pub fn traceparent(&self) -> Option<String> {
        self.meta_text("traceparent").filter(|text| trace_context::is_parent(text))
    }

    /// What vendors add to the [trace](Self::traceparent).
    pub fn tracestate(&self) -> Option<String> {
        self.traceparent()?;
        self.meta_text("tracestate").filter(|text| trace_context::is_list(text, 512))
    }

    /// Properties that travel with the request, in the form of [W3C baggage](https://www.w3.org/TR/baggage/).
    pub fn baggage(&self) -> Option<String> {
        self.meta_text("baggage").filter(|text| trace_context::is_list(text, 8192))
    }

    fn meta_text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.meta(key)?).ok()
    }

    /// The server, to change what it offers, announce updates or end it.
    ///
    /// A call that is cancelled while it waits does not come to what stands after: announce a change
    /// where it is made. And a call cannot wait for the end of the server, which waits for the call: it
    /// ends it with [`start_shutdown`](ServerHandle::start_shutdown).
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Write a note.
    /// #[tool]
    /// fn write(ctx: &Context, id: u64, text: String) {
    ///     // …
    ///     ctx.server().resource_updated(format!("note://{id}"));
    /// }
    /// ```
    pub fn server(&self) -> &ServerHandle {
        &self.server
    }

    /// The HTTP request the call came in, without its body: headers, and the extensions that layers in
    /// front of the server have put in. None on stdio. For the feature `http`.
    #[cfg(feature = "http")]
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.http.as_deref()
    }

    /// Lets go of the client's connection while the call goes on: the client comes back for the
    /// answer. For calls that take long, so that nobody has to hold a connection open.
    ///
    /// Does nothing where the client cannot come back: it can over HTTP, in sessions of 2025-11-25. For
    /// the feature `http`.
    #[cfg(feature = "http")]
    pub async fn close_stream(&self) {
        if self.resumable && self.revision.has_event_priming() {
            self.notifier.detach().await;
        }
    }

    /// Whether nobody waits for the answer any more: the client has cancelled the call or is gone, or
    /// the call has timed out.
    ///
    /// A `blocking` handler asks now and then and returns if so. An `async` one need not: its future
    /// is dropped at its next `.await`.
    pub fn is_cancelled(&self) -> bool {
        let task = self.dialogue.task().map(|job| &job.notifier);
        task.unwrap_or(&self.notifier).is_closed()
    }

    /// Tells the client how far the call has come: `done` of `total`, in whatever unit. Both are numbers of
    /// any type; where the total is unknown it is `None`.
    ///
    /// Does nothing if the client did not ask for it. What is no further than the last time is not
    /// sent, nor what follows it too closely, except the end.
    pub async fn progress(&self, done: impl Amount, total: impl Total) {
        self.report(done.amount(), total.total(), None).await;
    }

    /// Like [`progress`](Self::progress), with a text for people. Clients of 2024-11-05 get the
    /// numbers alone.
    pub async fn progress_message(&self, done: impl Amount, total: impl Total, message: &str) {
        self.report(done.amount(), total.total(), Some(message)).await;
    }

    /// Like [`progress`](Self::progress), for a function that cannot wait: a `blocking` handler, or
    /// a thread of your own. If the client has no room for it now, it is lost.
    pub fn try_progress(&self, done: impl Amount, total: impl Total) {
        let (done, total) = (done.amount(), total.total());
        self.report_task(done, total, None);
        if let Some(line) = self.report_line(done, total, None) {
            self.notifier.try_send(line);
        }
    }

    async fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.report_task(done, total, message);
        if let Some(line) = self.report_line(done, total, message) {
            self.notifier.send(line).await;
        }
    }

    /// A task says in words where it is: whoever looks after it may not have the call's stream any more.
    fn report_task(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(job) = self.dialogue.task() {
            let so_far = total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
            job.say(message.map_or(so_far, ToOwned::to_owned));
        }
    }

    /// A report, if it is worth one.
    fn report_line(&self, done: f64, total: Option<f64>, message: Option<&str>) -> Option<Vec<u8>> {
        let progress = self.progress.as_ref().filter(|progress| progress.advances(done, total))?;
        let site = notification::NotificationTo { revision: self.revision, task: self.dialogue.named(self.revision) };
        Some(notification::progress(&progress.token, done, total, message, site))
    }

    /// Sends the client a log message, if it wants messages of this level. More than
    /// [`Limits::log_rate`](crate::Limits::log_rate) of one call are dropped.
    ///
    /// ```
    /// use mcp_runtime::protocol::LogLevel;
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Copy a table.
    /// #[tool]
    /// async fn copy(ctx: &Context, rows: u64) -> u64 {
    ///     for row in 0..rows {
    ///         // …
    ///         ctx.progress(row + 1, rows).await;
    ///     }
    ///     ctx.log(LogLevel::Info, json!({"copied": rows})).await;
    ///     rows
    /// }
    /// ```
    pub async fn log(&self, level: LogLevel, data: impl Serialize) {
        if self.wants(level) {
            self.notifier.send(notification::log(level, None, &data, self.dialogue.named(self.revision))).await;
        }
    }

    /// Like [`log`](Self::log), for a function that cannot wait. What there is no room for is lost.
    pub fn try_log(&self, level: LogLevel, data: impl Serialize) {
        if self.wants(level) {
            self.notifier.try_send(notification::log(level, None, &data, self.dialogue.named(self.revision)));
        }
    }

    fn wants(&self, level: LogLevel) -> bool {
        self.log_level.is_some_and(|least| level >= least) && self.notifier.may_log()
    }
}

/// One member of an object.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let object = Object::read(Raw::new_unchecked(object)).ok()?;
    object.get(name).map(Raw::get)
}

impl FromInvocation for Context {
    fn from_invocation(invocation: &Invocation<'_>) -> Self {
        let task = invocation.job.filter(|job| !job.asks_first);
        let notifier = task.map_or_else(|| invocation.channel.notifier(), |job| Arc::clone(&job.notifier));
        Context {
            request_id: invocation.id.as_str().into(),
            revision: invocation.envelope.revision,
            client: invocation.envelope.client(),
            meta: invocation.envelope.meta.map(|meta| meta.get().into()),
            log_level: invocation.envelope.log_level,
            progress: invocation.envelope.meta.and_then(Progress::wanted).map(Arc::new),
            notifier,
            dialogue: invocation.dialogue(),
            principal: invocation.channel.principal().cloned(),
            server: ServerHandle::new(Arc::clone(&invocation.channel.core.shared)),
            #[cfg(feature = "http")]
            http: invocation.channel.outbox().parts().cloned(),
            #[cfg(feature = "http")]
            resumable: invocation.channel.outbox().is_resumable(),
        }
    }
}
