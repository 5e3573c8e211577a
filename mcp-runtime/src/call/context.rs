//! [`Context`]: what a handler knows of its call, and its notifications to the client. Its asks are in `ask`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::invocation::{FromInvocation, Origin};
use super::notifier::Notifier;
use super::progress::{Amount, Progress, ProgressReport, Total};
use crate::ask::Dialogue;
#[cfg(feature = "auth")]
use crate::auth::access::Rights;
#[cfg(feature = "http")]
use crate::call::outbox::seen_request::SeenRequest;
use crate::call::telemetry::trace_context;
use crate::era::CAPABILITIES;
use crate::era::client_info::ClientInfo;
use crate::era::encode::notification;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::protocol::{LogLevel, Revision};
use crate::server::handle::ServerHandle;
#[cfg(feature = "http")]
use crate::server::peer::Peer;

/// The call a handler serves: its caller, and the way back to the client.
///
/// A handler takes it by reference, at any position. It is not an argument of the caller, and not part of the
/// schema.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Count the words of a text.
/// #[tool]
/// async fn count(ctx: &Context, texts: Vec<String>) -> usize {
///     let mut words = 0;
///     for (index, text) in texts.iter().enumerate() {
///         words += text.split_whitespace().count();
///         ctx.progress(index + 1, texts.len()).await;
///     }
///     words
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("words", "1.0.0").tools(tools![count])).await?;
/// assert_eq!(client.call("count", json!({"texts": ["one two", "three"]})).await?.text(), "3");
/// # Ok(())
/// # }
/// ```
///
/// - **The caller**: [`client_name`](Self::client_name), [`revision`](Self::revision),
///   [`client_capability`](Self::client_capability), [`principal`](Self::principal), [`meta`](Self::meta),
///   with the feature `auth` `user` and `require_scopes`, and, over HTTP, `http`.
/// - **Notifications**: [`progress`](Self::progress) and [`log`](Self::log). They are sent before the response and
///   dropped after it.
/// - **Questions and tasks**: [`elicit`](Self::elicit), [`sample`](Self::sample),
///   [`list_roots`](Self::list_roots), [`once`](Self::once) and [`start_task`](Self::start_task).
/// - **The server**: [`server`](Self::server).
///
/// A handler that takes no `Context` does not pay for it. Clone it to move it into a task or a thread of your own.
#[derive(Clone)]
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
    #[cfg(feature = "http")]
    peer: Option<Peer>,
    server: ServerHandle,
    #[cfg(feature = "auth")]
    pub(super) rights: Rights,
    #[cfg(feature = "http")]
    pub(crate) http: SeenRequest,
    #[cfg(feature = "http")]
    resumable: bool,
}

impl Context {
    /// The id of the request, as JSON text: `7`, or `"a"` with its quotes. `null` in the handler of a notification.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The protocol revision of the call.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The name the client gives itself, like `claude-code`. Not authenticated: use it for logs and workarounds, not
    /// for access control.
    pub fn client_name(&self) -> Option<&str> {
        self.client.name()
    }

    /// The version the client gives itself.
    pub fn client_version(&self) -> Option<&str> {
        self.client.version()
    }

    /// The settings of a capability that the client declares, as JSON text; `{}` if there are none. `None` if the
    /// client does not declare the capability.
    ///
    /// Since 2026-07-28 every request declares capabilities, before that `initialize` does. For the capabilities this
    /// crate uses, prefer [`can_elicit`](Self::can_elicit), [`can_sample`](Self::can_sample) and the like: they also
    /// know whether the client can be asked on this connection.
    pub fn client_capability(&self, name: &str) -> Option<&str> {
        let all = if self.revision.is_stateless() {
            self.meta(CAPABILITIES)?
        } else {
            self.client.initialize_param("capabilities")?
        };
        // Some clients write null for what they do not have.
        member(all, name).filter(|settings| *settings != "null")
    }

    /// The authenticated caller, as named by [`HttpService::principal`](crate::http::HttpService::principal). `None`
    /// for anonymous callers, and on stdio.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// The address the request comes from, or what a trusted proxy says it is; see [`http::Peer`](crate::http::Peer).
    /// `None` on stdio, and in a nested service whose middleware does not provide it. Requires the feature `http`.
    #[cfg(feature = "http")]
    pub fn peer(&self) -> Option<std::net::IpAddr> {
        self.peer.map(Peer::ip)
    }

    /// A parameter of the client's `initialize`, as JSON text, like the `rootUri` of clients that also speak the
    /// Language Server Protocol. Not authenticated. `None` since 2026-07-28, which has no `initialize`.
    pub fn initialize_param(&self, name: &str) -> Option<&str> {
        self.client.initialize_param(name)
    }

    /// An entry of the request's `_meta`, as JSON text.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Say hello.
    /// #[tool]
    /// fn greet(ctx: &Context) -> Result<&'static str> {
    ///     let locale: Option<String> = ctx.meta("com.example/locale").map(serde_json::from_str).transpose()?;
    ///     Ok(if locale.as_deref() == Some("de") { "Hallo!" } else { "Hello!" })
    /// }
    /// ```
    pub fn meta(&self, key: &str) -> Option<&str> {
        member(self.meta.as_deref()?, key)
    }

    /// The client's span, from `_meta`: a [W3C `traceparent`](https://www.w3.org/TR/trace-context/). `None` if the
    /// client sent none, or a malformed one.
    pub fn traceparent(&self) -> Option<String> {
        self.meta_text("traceparent").filter(|text| trace_context::is_parent(text))
    }

    /// The vendor data of the client's [trace](Self::traceparent): a W3C `tracestate`. `None` if it is malformed, or
    /// without a valid `traceparent`.
    pub fn tracestate(&self) -> Option<String> {
        self.traceparent()?;
        self.meta_text("tracestate").filter(|text| trace_context::is_list(text, 512))
    }

    /// The properties of the client's trace: [W3C `baggage`](https://www.w3.org/TR/baggage/). `None` if it is
    /// malformed.
    pub fn baggage(&self) -> Option<String> {
        self.meta_text("baggage").filter(|text| trace_context::is_list(text, 8192))
    }

    fn meta_text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.meta(key)?).ok()
    }

    /// A handle to the server: to add and remove handlers, to announce changes, or to shut it down.
    ///
    /// Announce a change right after making it, before the next `.await`: a cancelled handler is dropped there. To
    /// shut down, use [`start_shutdown`](ServerHandle::start_shutdown): a handler that waits for the
    /// [`shutdown`](ServerHandle::shutdown) waits for itself.
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

    /// The HTTP request without its body: its headers, and the extensions that middleware has added. `None` on stdio.
    /// With authorization, without `Authorization` and `DPoP`: tokens are not handed on. Requires the feature `http`.
    #[cfg(feature = "http")]
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.http.parts()
    }

    /// Closes the HTTP stream while the call continues; the client reconnects for the result. Long calls then do not
    /// hold a connection open.
    ///
    /// Takes effect over HTTP, in sessions of 2025-11-25, for clients that accept a stream. Elsewhere the client could
    /// not reconnect, and this does nothing. Requires the feature `http`.
    #[cfg(feature = "http")]
    pub async fn close_stream(&self) {
        if self.resumable && self.revision.has_event_priming() {
            self.outlet().detach().await;
        }
    }

    /// Whether the response is no longer needed: the client has cancelled the call or disconnected, or the call has
    /// timed out.
    ///
    /// A `blocking` handler should check it regularly and return early. An `async` handler need not: its future is
    /// dropped at its next `.await`.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Count the primes below a number.
    /// #[tool(blocking)]
    /// fn primes(ctx: &Context, below: u64) -> usize {
    ///     let is_prime = |n: &u64| (2..*n).all(|divisor| n % divisor != 0);
    ///     (2..below).take_while(|_| !ctx.is_cancelled()).filter(is_prime).count()
    /// }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.outlet().is_closed()
    }

    /// Reports progress to the client: `done` of `total`, in any unit. Both are numbers of any primitive type; an
    /// unknown total is `None`. A total that may be known is an `Option<f64>`.
    ///
    /// Does nothing if the client did not ask for progress. Reports that do not advance are dropped, and reports less
    /// than 10 ms apart, except the one that reaches the total. Report as often as you like. In a task, the report
    /// also becomes the status message of the task.
    ///
    /// Waits for room if the client reads slowly; see [`try_progress`](Self::try_progress).
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Import rows.
    /// #[tool]
    /// async fn import(ctx: &Context, rows: Vec<String>) {
    ///     for (index, _row) in rows.iter().enumerate() {
    ///         // …
    ///         ctx.progress(index + 1, rows.len()).await; // or `None`, if the total is unknown
    ///     }
    /// }
    /// ```
    pub fn progress(&self, done: impl Amount, total: impl Total) -> ProgressReport<'_> {
        self.report(done.amount(), total.total(), None)
    }

    /// Like [`progress`](Self::progress), with a message for the user. Clients of 2024-11-05 get the numbers only.
    pub fn progress_message(&self, done: impl Amount, total: impl Total, message: &str) -> ProgressReport<'_> {
        self.report(done.amount(), total.total(), Some(message))
    }

    /// Like [`progress`](Self::progress), without waiting: for `blocking` handlers and threads of your own. If the
    /// client reads slowly and its queue is full, the report is dropped.
    pub fn try_progress(&self, done: impl Amount, total: impl Total) {
        let (done, total) = (done.amount(), total.total());
        self.report_task(done, total, None);
        if let Some(progress) = &self.progress {
            let (outlet, to) = (self.outlet(), self.notified());
            progress.report(done, total, |done| {
                outlet.try_send(notification::progress(&progress.token, done, total, None, to));
            });
        }
    }

    fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) -> ProgressReport<'_> {
        self.report_task(done, total, message);
        // Asked here, so that a report that is dropped costs nothing, and again when there is room for it.
        let progress = self.progress.as_ref().filter(|progress| progress.advances(done, total));
        ProgressReport::new(progress.map(|progress| {
            let message = message.map(ToOwned::to_owned);
            async move { progress.send(done, total, message, self.outlet(), self.notified()).await }
        }))
    }

    /// Where notifications go: with the task if the call has become one, else with the call.
    fn outlet(&self) -> &Notifier {
        self.dialogue.task().map_or(&self.notifier, |job| &job.notifier)
    }

    /// Sets the status message of a task: a client that polls the task does not read the call's stream.
    fn report_task(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(job) = self.dialogue.task() {
            let so_far = total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
            job.say(message.map_or(so_far, ToOwned::to_owned));
        }
    }

    /// To whom notifications go.
    fn notified(&self) -> notification::NotificationTo<'_> {
        notification::NotificationTo { revision: self.revision, task: self.dialogue.named(self.revision) }
    }

    /// Sends a log message to the client, if the client asked for messages of this level. `data` is a text or any
    /// value with `Serialize`.
    ///
    /// Messages above [`Limits::log_rate`](crate::Limits::log_rate) are dropped. Waits for room if the client reads
    /// slowly; see [`try_log`](Self::try_log). To send `tracing` events instead, see `Server::tracing_layer`.
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
        if self.may_log(level) {
            self.outlet().send(notification::log(level, None, &data, self.dialogue.named(self.revision))).await;
        }
    }

    /// Like [`log`](Self::log), without waiting: for `blocking` handlers and threads of your own. If the client reads
    /// slowly and its queue is full, the message is dropped.
    pub fn try_log(&self, level: LogLevel, data: impl Serialize) {
        if self.may_log(level) {
            self.outlet().try_send(notification::log(level, None, &data, self.dialogue.named(self.revision)));
        }
    }

    fn may_log(&self, level: LogLevel) -> bool {
        self.log_level.is_some_and(|least| level >= least) && self.outlet().may_log()
    }
}

/// What a log may have of a call: not its arguments, answers and headers, which a `#[tracing::instrument]` on a handler
/// would record.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request_id", &self.request_id)
            .field("revision", &self.revision)
            .field("client", &self.client.name())
            .finish_non_exhaustive()
    }
}

/// A member of a JSON object, as JSON text.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let object = Object::read(Raw::new_unchecked(object)).ok()?;
    object.get(name).map(Raw::get)
}

impl FromInvocation for Context {
    fn from_origin(origin: Origin<'_>) -> Self {
        let invocation = match origin {
            Origin::Request(invocation) => invocation,
            Origin::Layer(call) => return call.context.clone(),
        };
        Context {
            request_id: invocation.id.as_str().into(),
            revision: invocation.envelope.revision,
            client: invocation.envelope.client(),
            meta: invocation.envelope.meta.map(|meta| meta.get().into()),
            log_level: invocation.envelope.log_level,
            progress: invocation.channel.progress(invocation.envelope.meta),
            notifier: invocation.channel.notifier(),
            dialogue: invocation.dialogue(),
            principal: invocation.channel.principal().cloned(),
            #[cfg(feature = "http")]
            peer: invocation.channel.peer(),
            server: ServerHandle::new(Arc::clone(&invocation.channel.core.shared)),
            #[cfg(feature = "auth")]
            rights: invocation.rights(),
            #[cfg(feature = "http")]
            http: SeenRequest::of(invocation.channel.outbox()),
            #[cfg(feature = "http")]
            resumable: invocation.channel.outbox().is_resumable(),
        }
    }
}
