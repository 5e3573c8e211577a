//! Asking the client: one line in a handler, whatever revision the client speaks.
//!
//! In a session, an ask is a request on the stream of the call (`session`). Since 2026-07-28, the response
//! to the call contains the questions, and the client retries with the answers (`rounds`). A task puts its
//! questions into its record (`task`). Handlers see no difference; `dialogue` chooses.
//!
//! By rounds, an ask without an answer stays pending, and the handler is dropped. It is not an error value: a
//! handler could take it for a refusal, or swallow it. While a `once` runs the handler is not dropped, so that
//! no effect is interrupted.
//!
//! The key of an ask is its position in the handler, unless it is given one, and its question is remembered as a
//! digest. A retry that asks another question under a key is an error for the handler's author.

mod binding;
mod claims;
mod dialogue;
mod error;
pub(crate) mod form;
mod future;
mod page;
mod question;
mod rounds;
pub(crate) mod sealed_state;
mod session;

use std::sync::Arc;

use claims::{DialogueClaims, Owner};
use dialogue::{Channel, Origin};
use form::Form;
use question::accepted;
use rounds::{Bounds, Rounds};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::call::context::{Context, member};
use crate::call::invocation::Invocation;
use crate::era::{CAPABILITIES, SamplingCan};
use crate::error::Result;
use crate::outcome::{MissingCapability, Question};
use crate::protocol::Root;
use crate::protocol::sampling::{SampleRequest, SampleResult};

pub use crate::protocol::ClientCapability;
pub(crate) use binding::StateBinding;
#[cfg(feature = "http")]
pub(crate) use claims::fleet::FleetClaims;
pub(crate) use claims::{MemoryClaims, OnceClaims};
pub(crate) use dialogue::Dialogue;
pub use error::{AskError, Unsupported};
pub use future::Ask;
pub use page::UrlElicitation;
pub(crate) use question::{Posed, read_answer, read_responses};
pub(crate) use rounds::Resumed;
pub(crate) use session::{PendingRequests, SessionChannel};

#[doc = include_str!("../../docs/asking.md")]
impl Context {
    /// Asks the user to fill in a form: a struct of strings, numbers, booleans and choices.
    ///
    /// The doc comments of the fields become their labels. The answer is validated against the form before
    /// it is deserialized; an answer that does not fit is an [`AskError::Invalid`]. A type that no form can
    /// have is an [`AskError::Misused`].
    ///
    /// Forms must not ask for secrets, such as passwords: use [`elicit_url`](Self::elicit_url).
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
        Ask::new(
            &self.dialogue,
            |_| question,
            move |_, answer| {
                let mut content = accepted(answer)?;
                if let Some(form) = &form {
                    form.drop_blanks(&mut content);
                    form.read_leniently(&mut content);
                    form.check(&content).map_err(AskError::Invalid)?;
                }
                T::deserialize(content).map_err(|error| AskError::Invalid(error.to_string()))
            },
        )
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

    /// Asks the client's model for a completion.
    ///
    /// Since 2026-07-28 the protocol recommends calling a model directly instead. Sampling stays in the
    /// protocol until 2027-07-28 at least.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Summarize a text.
    /// #[tool]
    /// async fn summarize(ctx: &Context, text: String) -> Result<String> {
    ///     let result = ctx.sample(format!("Summarize in one sentence: {text}")).await?;
    ///     Ok(result.text())
    /// }
    /// ```
    pub fn sample(&self, request: impl Into<SampleRequest>) -> Ask<SampleResult> {
        let question = self.sampling(&request.into());
        Ask::new(&self.dialogue, |_| question, |_, answer| SampleResult::read(&answer).map_err(AskError::Invalid))
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

    /// Asks the client for its roots: the directories it works in. They inform the server, and grant no
    /// permissions.
    pub fn list_roots(&self) -> Ask<Vec<Root>> {
        let question =
            self.needs(ClientCapability::Roots).map(|()| Question { method: Question::ROOTS, params: json!({}) });
        Ask::new(&self.dialogue, |_| question, |_, answer| Root::read(&answer).map_err(AskError::Invalid))
    }

    /// Runs `work` once, however often the handler runs: since 2026-07-28, a call that asks runs again for
    /// every round of answers.
    ///
    /// The value is remembered under `key`, and later runs return it without running `work`. So do copies of a
    /// round, at the same time or after its response was lost: they wait for the first, and get its value. `work`
    /// that has begun is finished then, even if the client goes away. An error is not remembered: the next run tries
    /// again. A key identifies one `once` of a call; inside a loop, put
    /// the index into it. Asks are not allowed inside `work`.
    ///
    /// Wrap every side effect that comes before an ask, and every value that differs between runs, like the
    /// time or a random id.
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

    /// The id of the call's dialogue with its client: random, and the same in all rounds of the call and on all
    /// replicas. Two calls never share one, however alike they are.
    ///
    /// Name with it what the call holds elsewhere, such as a reservation: a round that comes back late then finds what
    /// is its own, and nothing of another call's. The id is not shown to the client.
    ///
    /// # Panics
    ///
    /// If the system's random number generator fails.
    pub fn dialogue_id(&self) -> &str {
        self.dialogue.id()
    }

    /// A key for a step of the call, for services that do a request with the same key once: the same in all rounds of the
    /// call, in all runs of a durable task, and on all replicas. Other calls and other steps have other keys.
    ///
    /// What a [`once`](Self::once) block did is never done again once its result is stored. A replica that dies in
    /// between has done it without a trace; with this key, the service it called can tell.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// # async fn charge(cents: u64, idempotency_key: &str) -> Result<String> { Ok(format!("{cents} {idempotency_key}")) }
    ///
    /// /// Pay for an order.
    /// #[tool(task, durable)]
    /// async fn pay(ctx: &Context, cents: u64) -> Result<String> {
    ///     let key = ctx.idempotency_key("charge");
    ///     ctx.once("charge", charge(cents, &key)).await
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If the system's random number generator fails.
    pub fn idempotency_key(&self, step: &str) -> String {
        self.dialogue.derived_id("mcp idempotency", step)
    }

    /// Turns the call into a task: the client gets a response at once, and fetches the result later.
    ///
    /// For tools with `#[tool(task, asks_first)]`: ask what you need, then release the client. Does nothing
    /// in other handlers, or if the client does not support tasks.
    pub async fn start_task(&self) {
        self.dialogue.start_task().await;
    }

    /// Whether the call is a task.
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

    /// Whether the client can ask its model for a completion.
    pub fn can_sample(&self) -> bool {
        self.can(ClientCapability::Sampling)
    }

    /// Whether the client's model can use tools that the server defines.
    pub fn can_sample_with_tools(&self) -> bool {
        self.can(ClientCapability::SamplingTools)
    }

    /// Whether the client can list its roots.
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
            // On a connection that cannot ask, capabilities do not matter, or are not known.
            Err(why) if !self.revision().asks_by_rounds() => Unsupported::here(why),
            _ => Unsupported::lacks(capability, self.revision()),
        };
        Err(AskError::Unsupported(unsupported))
    }
}

/// A type that [`Context::elicit`] can ask for: a struct with `Deserialize` and `JsonSchema`.
///
/// Implemented for all such types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for",
    label = "no form can ask for this type",
    note = "a form is a struct with `#[derive(serde::Deserialize, schemars::JsonSchema)]` and owned fields",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#forms-and-once"
)]
pub trait ElicitForm: DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> ElicitForm for T {}

/// A type that [`Context::once`] can remember: with `Serialize` and `Deserialize`.
///
/// Implemented for all such types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be remembered",
    label = "the value of this `once`",
    note = "the value travels as JSON: `#[derive(serde::Serialize, serde::Deserialize)]`, or return its id",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#forms-and-once"
)]
pub trait OnceValue: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> OnceValue for T {}

/// Checks that the client declares a capability that the handler requires.
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

/// The dialogue of a call, with what the call brings back from an earlier round.
pub(crate) fn dialogue(invocation: &Invocation<'_>, mut resumed: Option<Resumed>) -> Arc<Dialogue> {
    let channel = invocation.channel;
    let limits = &channel.core.limits;
    let origin = Origin::of(invocation, resumed.as_mut());
    let ask_channel = match (invocation.state_binding(), SessionChannel::of(invocation)) {
        (Some(binding), _) => {
            let bounds = Bounds { ttl: limits.answer_timeout, bytes: limits.state_bytes, rounds: limits.asks_per_call };
            let sealer = Arc::clone(&channel.core.secrets);
            Channel::Rounds(Box::new(Rounds::new(binding, sealer, resumed, bounds)))
        }
        (None, Some(session)) => Channel::Session(session),
        (None, None) => Channel::Unreachable(if channel.can_ask() || invocation.envelope.revision.asks_by_rounds() {
            "the client cannot be asked here: only the handler of a tool, a prompt or a resource can ask"
        } else {
            "this client cannot be asked: it needs a session and must accept `text/event-stream`"
        }),
    };
    let dialogue = Dialogue::new(ask_channel, origin, limits);
    if let Some(job) = invocation.job {
        dialogue.plan(Arc::clone(job));
    }
    Arc::new(dialogue)
}

impl Origin {
    /// What an earlier round left. Only a run that resumes a dialogue can have copies, which share its claims.
    fn of(invocation: &Invocation<'_>, resumed: Option<&mut Resumed>) -> Self {
        let core = invocation.channel.core;
        let Some(resumed) = resumed else { return Origin::default() };
        let claims = |until| {
            let owner = Owner { principal: invocation.channel.principal().cloned(), until };
            DialogueClaims { table: Arc::clone(&core.once), owner, result_bytes: core.limits.state_bytes }
        };
        let (id, until) = resumed.dialogue().map(|(id, until)| (id.to_owned(), until)).unzip();
        Origin { id, once_results: resumed.take_once_results(), claims: until.map(claims) }
    }
}
