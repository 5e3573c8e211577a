//! Asking the client: one line in a handler, whatever revision the client speaks.
//!
//! In a session it is a request on the stream of the call (`exchange`); since 2026-07-28 the call is
//! answered with its questions and made again (`rounds`). A handler sees neither.

mod dialogue;
mod error;
pub(crate) mod form;
mod future;
mod once;
mod question;
mod rounds;
pub(crate) mod sealed_state;
mod session;

use std::sync::Arc;

use dialogue::Channel;
use error::Visit;
use form::Form;
use rounds::{Bounds, Rounds};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::context::{Context, member};
use crate::call::invocation::Invocation;
use crate::era::{CAPABILITIES, SamplingCan};
use crate::error::Result;
use crate::outcome::{MissingCapability, Question};
use crate::protocol::Root;
use crate::protocol::sampling::{SampleRequest, SampleResult};
use crate::random;

pub use crate::protocol::ClientCapability;
pub(crate) use dialogue::{Dialogue, OnceResults};
pub use error::{AskError, Unsupported};
pub use future::{Ask, UrlElicitation};
pub(crate) use question::read_responses;
pub(crate) use rounds::{Resumed, StateBinding};
pub(crate) use session::{PendingRequests, SessionChannel};

#[doc = include_str!("../../docs/asking.md")]
impl Context {
    /// Asks the user to fill in a form: a struct of texts, numbers, booleans and choices, described by
    /// its docs.
    ///
    /// ```
    /// use mcp_runtime::{Revision, prelude::*};
    /// use mcp_runtime::testing::TestClient;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Guest { /** What should we call you? */ name: String }
    ///
    /// /// Greet the user.
    /// #[tool]
    /// async fn greet(ctx: &Context) -> Result<String> {
    ///     let guest: Guest = ctx.elicit("Who is there?").await?;
    ///     Ok(format!("Hello, {}!", guest.name))
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
    ///     let server = Server::new("door", "1.0.0").tools(tools![greet]);
    ///     let client = TestClient::builder(server).revision(revision);
    ///     let client = client.on_elicit(|_| json!({"name": "Ada"})).connect().await?;
    ///     assert_eq!(client.call("greet", json!({})).await?.text(), "Hello, Ada!");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn elicit<T: ElicitForm>(&self, message: impl Into<String>) -> Ask<T> {
        let (form, question) = match self.form::<T>(&message.into()) {
            Ok((form, question)) => (Some(form), Ok(question)),
            Err(error) => (None, Err(error)),
        };
        Ask::new(&self.dialogue, question, move |answer| {
            let mut content = accepted(answer)?;
            if let Some(form) = form {
                form.drop_blanks(&mut content);
                form.check(&content).map_err(AskError::Invalid)?;
            }
            T::deserialize(content).map_err(|error| AskError::Invalid(error.to_string()))
        })
    }

    fn form<T: JsonSchema>(&self, message: &str) -> Result<(Form, Question), AskError> {
        let form = Form::of::<T>().map_err(AskError::Misused)?;
        self.needs(ClientCapability::Elicitation)?;
        let schema = form.schema(self.revision()).map_err(|why| AskError::Unsupported(Unsupported::here(why)))?;
        let mut params = json!({"message": message, "requestedSchema": schema});
        if self.revision().names_form_mode() {
            params["mode"] = json!("form");
        }
        Ok((form, Question { method: Question::ELICIT, params }))
    }

    /// Asks the user to visit a page: to sign in somewhere, or to tell a secret, which no form may ask
    /// for. The answer is that they agreed to, not that they did.
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Ask<UrlElicitation> {
        let (message, url, id) = (message.into(), url.into(), random::id().unwrap_or_default());
        let question = self.visit(&message, &url, &id);
        let consent = UrlElicitation::new(self, id);
        Ask::new(&self.dialogue, question, move |answer| match action(&answer)? {
            "accept" => Ok(consent),
            other => Err(no(other)),
        })
    }

    fn visit(&self, message: &str, url: &str, id: &str) -> Result<Question, AskError> {
        if !url.contains("://") || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(AskError::Misused(format!("`{}` is no URL to visit", crate::jsonrpc::error::shorten(url))));
        }
        let lacks = || self.needs(ClientCapability::ElicitationUrl);
        let reach = self.dialogue.reachable().map_err(|why| AskError::Unsupported(Unsupported::here(why)));
        if let Err(AskError::Unsupported(mut unsupported)) = lacks().and(reach) {
            // Whoever reads the error can still go there.
            unsupported.text = format!("{}. {message} {url}", unsupported.text);
            // A client that cannot be sent requests can be sent this.
            let told = self.revision().has_url_required_error() && self.dialogue.reachable().is_err();
            unsupported.visit =
                told.then(|| Visit { message: message.to_owned(), url: url.to_owned(), id: id.to_owned() });
            return Err(AskError::Unsupported(unsupported));
        }
        let mut params = json!({"mode": "url", "message": message, "url": url});
        if self.revision().has_elicitation_ids() {
            params["elicitationId"] = json!(id);
        }
        Ok(Question { method: Question::ELICIT, params })
    }

    /// Has the client's model say something.
    ///
    /// Since 2026-07-28 the protocol discourages it in favour of calling a model directly; it stays in the
    /// protocol until 2027-07-28 at least.
    pub fn sample(&self, request: impl Into<SampleRequest>) -> Ask<SampleResult> {
        Ask::new(&self.dialogue, self.sampling(&request.into()), |answer| {
            SampleResult::read(&answer).map_err(AskError::Invalid)
        })
    }

    fn sampling(&self, request: &SampleRequest) -> Result<Question, AskError> {
        self.needs(ClientCapability::Sampling)?;
        if request.has_tools() {
            self.needs(ClientCapability::SamplingTools)?;
        }
        let can = SamplingCan {
            tools: self.can(ClientCapability::SamplingTools),
            context: self.can(ClientCapability::SamplingContext),
        };
        let params =
            request.params(self.revision(), can).map_err(|why| AskError::Unsupported(Unsupported::here(why)))?;
        Ok(Question { method: Question::SAMPLE, params })
    }

    /// Asks which directories the client works in. Advice, not a permission.
    pub fn list_roots(&self) -> Ask<Vec<Root>> {
        let question =
            self.needs(ClientCapability::Roots).map(|()| Question { method: Question::ROOTS, params: json!({}) });
        Ask::new(&self.dialogue, question, |answer| Root::read(&answer).map_err(AskError::Invalid))
    }

    /// Does something once, however often the call runs: what it returns is remembered, and given back
    /// when the call asks and runs again. An error is not: what failed may be tried again. Nobody can be
    /// asked inside of it.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct Confirm { sure: bool }
    /// # async fn reserve(seat: u32) -> Result<String> { Ok(format!("r-{seat}")) }
    ///
    /// /// Book a seat.
    /// #[tool]
    /// async fn book(ctx: &Context, seat: u32) -> Result<String> {
    ///     let reservation = ctx.once("reserve", reserve(seat)).await?;
    ///     let confirm: Confirm = ctx.elicit(format!("Book {reservation}?")).await?;
    ///     Ok(if confirm.sure { reservation } else { "nothing booked".to_owned() })
    /// }
    /// ```
    pub async fn once<T: OnceValue>(&self, key: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.dialogue.once(key, work).await
    }

    /// From here on the call is a task, if it is to be one: the client has its answer, and asks for the
    /// rest. For tools with `#[tool(task, asks_first)]`; elsewhere nothing happens.
    pub async fn start_task(&self) {
        self.dialogue.start_task().await;
    }

    /// Whether the call goes on as a task.
    pub fn is_task(&self) -> bool {
        self.dialogue.task().is_some()
    }

    /// Whether the client can ask its user to fill in a form.
    pub fn can_elicit(&self) -> bool {
        self.can(ClientCapability::Elicitation)
    }

    /// Whether the client can ask its user to visit a page.
    pub fn can_elicit_url(&self) -> bool {
        self.can(ClientCapability::ElicitationUrl)
    }

    /// Whether the client can ask its model.
    pub fn can_sample(&self) -> bool {
        self.can(ClientCapability::Sampling)
    }

    /// Whether the client can give tools to its model.
    pub fn can_sample_with_tools(&self) -> bool {
        self.can(ClientCapability::SamplingTools)
    }

    /// Whether the client tells which directories it works in.
    pub fn can_list_roots(&self) -> bool {
        self.can(ClientCapability::Roots)
    }

    fn can(&self, capability: ClientCapability) -> bool {
        self.dialogue.reachable().is_ok() && self.declares(capability)
    }

    fn declares(&self, capability: ClientCapability) -> bool {
        capability.is_declared(self.revision(), |name| self.client_capability(name))
    }

    fn needs(&self, capability: ClientCapability) -> Result<(), AskError> {
        if self.declares(capability) {
            return Ok(());
        }
        let unsupported = match self.dialogue.reachable() {
            // What was declared does not matter where nobody can be asked, or is not known.
            Err(why) if !self.revision().asks_by_rounds() => Unsupported::here(why),
            _ => Unsupported::lacks(capability, self.revision()),
        };
        Err(AskError::Unsupported(unsupported))
    }
}

/// What a form can ask for: a struct with `Deserialize` and `JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    label = "no form can be made of it",
    note = "a form is a struct with `#[derive(serde::Deserialize, schemars::JsonSchema)]`; it owns what it has"
)]
pub trait ElicitForm: DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> ElicitForm for T {}

/// What `once` can remember: a type with `Serialize` and `Deserialize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be remembered",
    label = "the result of what is done once",
    note = "it travels as JSON: `#[derive(serde::Serialize, serde::Deserialize)]`, or return its id"
)]
pub trait OnceValue: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> OnceValue for T {}

/// Whether a caller declares what a handler requires.
pub(crate) fn required(capability: ClientCapability, invocation: &Invocation<'_>) -> Result<(), MissingCapability> {
    let client = invocation.envelope.client();
    let all = if invocation.envelope.revision.is_stateless() {
        invocation.envelope.meta.and_then(|meta| member(meta.get(), CAPABILITIES))
    } else {
        client.initialize_param("capabilities")
    };
    let declared = |name: &str| all.and_then(|all| member(all, name));
    if capability.is_declared(invocation.envelope.revision, declared) {
        Ok(())
    } else {
        Err(MissingCapability::of(capability, invocation.envelope.revision))
    }
}

/// The way of a call to its client, and what it brings back from an earlier round.
pub(crate) fn dialogue(invocation: &Invocation<'_>, mut resumed: Option<Resumed>) -> Arc<Dialogue> {
    let channel = invocation.channel;
    let limits = &channel.core.limits;
    let once_results = resumed.as_mut().map(Resumed::take_once_results).unwrap_or_default();
    let way = match (invocation.purpose(), SessionChannel::of(invocation)) {
        (Some(purpose), _) => {
            let bounds = Bounds { ttl: limits.answer_timeout, bytes: limits.state_bytes, rounds: limits.asks_per_call };
            let secrets = Arc::clone(&channel.core.secrets);
            Channel::Rounds(Box::new(Rounds::new(purpose, secrets, resumed, bounds)))
        }
        (None, Some(exchange)) => Channel::Session(exchange),
        (None, None) => Channel::Unreachable(if channel.can_ask() || invocation.envelope.revision.asks_by_rounds() {
            "nobody can be asked here: only a tool, a prompt or a resource that was called can ask"
        } else {
            "this client cannot be asked: it needs a session, and to accept `text/event-stream`"
        }),
    };
    let dialogue = Dialogue::new(way, once_results, limits);
    if let Some(job) = &*channel.job.borrow() {
        dialogue.plan(Arc::clone(job));
    }
    Arc::new(dialogue)
}

/// What somebody filled in.
fn accepted(mut answer: Value) -> Result<Value, AskError> {
    match action(&answer)? {
        "accept" => Ok(match answer["content"].take() {
            Value::Null => json!({}),
            content => content,
        }),
        other => Err(no(other)),
    }
}

fn action(answer: &Value) -> Result<&str, AskError> {
    answer["action"].as_str().ok_or_else(|| AskError::Invalid("it has no `action`".to_owned()))
}

fn no(action: &str) -> AskError {
    match action {
        "decline" => AskError::Declined,
        "cancel" => AskError::Cancelled,
        other => AskError::Invalid(format!("`{}` is no action", crate::jsonrpc::error::shorten(other))),
    }
}
