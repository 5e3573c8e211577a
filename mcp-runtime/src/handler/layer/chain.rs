//! A handler inside of its layers: how a call enters them, and what their outcome must be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::call::{Call, CallKind};
use super::next::Next;
use super::outcome::Outcome;
use super::{DynLayer, Run};
use crate::call::context::Context;
use crate::call::invocation::{LayeredCall, Origin, ReadRequest, extract};
use crate::call::run::run_blocking;
use crate::handler::args::Args;
use crate::handler::args::checked::CheckedFn;
use crate::handler::args::rules::ArgumentPolicy;
use crate::handler::builder::Handler;
use crate::handler::completion::{Completers, CompletionFn, CompletionRequest, Reference};
use crate::handler::custom::{CustomFn, CustomMethod};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::outcome::{self as internal, Failure, Reply, Step, Work};
use crate::protocol::{CompletionContext, ToolAnnotations};

/// What a chain ends in, by name.
pub(super) struct Target {
    /// Its own, in this process.
    pub(super) id: u64,
    pub(super) kind: CallKind,
    pub(super) name: Box<str>,
    pub(super) annotations: ToolAnnotations,
}

impl Target {
    pub(super) fn new(kind: CallKind, name: &str, annotations: Option<&ToolAnnotations>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Target { id, kind, name: name.into(), annotations: annotations.cloned().unwrap_or_default() }
    }

    /// The completions of this target.
    pub(super) fn completed(&self) -> Self {
        Target::new(CallKind::Completion, &self.name, None)
    }
}

/// The layers around a handler, the outermost first.
pub(super) struct Chain {
    layers: Vec<Arc<dyn DynLayer>>,
    endpoint: Endpoint,
}

/// What the layers surround.
pub(super) enum Endpoint {
    Handler { function: CheckedFn, is_text: bool, policy: ArgumentPolicy },
    Completion(Arc<Completers>),
    Custom(CustomFn<internal::Outcome>),
}

/// The arguments of a completion, as its layers see them.
#[derive(Serialize, Deserialize)]
struct Completed<'a> {
    name: std::borrow::Cow<'a, str>,
    value: std::borrow::Cow<'a, str>,
}

/// Puts layers around a handler's function.
pub(super) fn wrap(
    handler: &mut Handler,
    layers: &[Arc<dyn DynLayer>],
    target: Arc<Target>,
    is_template: bool,
    policy: ArgumentPolicy,
) {
    let unset = CheckedFn::new(Box::new(|_, _| Err(Vec::new())), None);
    let function = std::mem::replace(&mut handler.function, unset);
    let is_text = target.kind != CallKind::Tool;
    let chain = Arc::new(Chain::new(layers.to_vec(), Endpoint::Handler { function, is_text, policy }));
    let enter = move |args: &Args<'_>, origin: Origin<'_>| {
        // Another template may match: a URI whose variables do not fit is not this one's call.
        if let (true, Endpoint::Handler { function, .. }) = (is_template, &chain.endpoint) {
            function.fits(args, policy)?;
        }
        let threads = match origin {
            Origin::Request(invocation) => Some(invocation.channel.core.blocking_threads.clone()),
            Origin::Layer(_) => None,
        };
        let read = origin.read();
        let call = Call {
            requested: read.map(|read| read.uri.into()),
            restricted: read.is_some_and(|read| read.restricted),
            threads,
            ..new_call(&target, args.to_json().into(), extract(origin))
        };
        Ok(Step::Future(chain.enter(call)))
    };
    handler.function = CheckedFn::new(Box::new(enter), None);
}

/// Puts layers around a custom method.
pub(super) fn wrap_method(
    method: &mut CustomMethod<internal::Outcome>,
    layers: &[Arc<dyn DynLayer>],
    target: Arc<Target>,
) {
    let unset: CustomFn<internal::Outcome> = Box::new(|_, _| Ok(Box::pin(async { Err(Failure::Panicked) })));
    let function = std::mem::replace(&mut method.call, unset);
    let chain = Arc::new(Chain::new(layers.to_vec(), Endpoint::Custom(function)));
    method.call = Box::new(move |context, params| Ok(chain.enter(new_call(&target, params.into(), context))));
}

fn new_call(target: &Arc<Target>, arguments: Arc<str>, context: Context) -> Call {
    Call {
        target: Arc::clone(target),
        requested: None,
        restricted: false,
        arguments,
        others: CompletionContext::default(),
        context,
        threads: None,
        #[cfg(feature = "tower")]
        next: None,
    }
}

impl Chain {
    pub(super) fn new(layers: Vec<Arc<dyn DynLayer>>, endpoint: Endpoint) -> Self {
        Chain { layers, endpoint }
    }

    /// The chain as the function that completes arguments.
    pub(super) fn completion(self, target: Arc<Target>) -> CompletionFn {
        let chain = Arc::new(self);
        Box::new(move |request: CompletionRequest<'_>, origin: Origin<'_>| {
            let CompletionRequest { reference, argument, typed, others } = request;
            let (Reference::Prompt(named) | Reference::Resource(named)) = reference;
            let arguments = serde_json::to_string(&Completed { name: argument, value: typed }).unwrap_or_default();
            let call = new_call(&target, arguments.into(), extract(origin));
            Step::Future(chain.enter(Call { requested: Some((&*named).into()), others, ..call }))
        })
    }

    /// The whole way of a call: through all layers to the handler, and back.
    fn enter(self: &Arc<Self>, call: Call) -> Work {
        let next = Next { chain: Arc::clone(self), at: 0 };
        let (kind, restricted, requested) = (call.kind(), call.restricted, call.requested.clone());
        Box::pin(async move {
            let outcome = next.run(call).await.into_internal();
            finish(outcome, kind, restricted, requested.as_deref())
        })
    }

    /// Runs the layer at this position, or the handler.
    pub(super) fn run(self: &Arc<Self>, at: usize, call: Call) -> Run {
        match self.layers.get(at) {
            Some(layer) => Arc::clone(layer).run(call, Next { chain: Arc::clone(self), at: at + 1 }),
            None => {
                let chain = Arc::clone(self);
                Box::pin(async move { Outcome::from_internal(chain.endpoint.run(&call).await) })
            }
        }
    }
}

impl Endpoint {
    async fn run(&self, call: &Call) -> internal::Outcome {
        // In a block of its own: what it borrows is gone before anything is awaited.
        let step = self.start(call)?;
        match step {
            Step::Ready(outcome) => outcome,
            Step::Future(work) => work.await,
            Step::Blocking(work) => match &call.threads {
                Some(threads) => run_blocking(threads, work)?.await,
                None => work(),
            },
        }
    }

    fn start(&self, call: &Call) -> Result<Step, Failure> {
        match self {
            Endpoint::Handler { function, is_text, policy } => {
                let raw = Some(Raw::new_unchecked(&call.arguments));
                let args = if *is_text { Args::text(raw)? } else { Args::json(raw)? };
                let read = call.requested.as_deref().map(|uri| ReadRequest { uri, restricted: call.restricted });
                let kept = LayeredCall { context: &call.context, read };
                function.call(&args, Origin::Layer(&kept), *policy).map_err(Failure::Arguments)
            }
            Endpoint::Completion(completers) => {
                let Completed { name, value } = serde_json::from_str(&call.arguments)
                    .map_err(|_| internal_error("a layer has replaced the arguments of a completion by others"))?;
                Ok(completers.complete(&name, value, call.others.clone()))
            }
            Endpoint::Custom(function) => {
                let future = function(call.context.clone(), &call.arguments);
                future.map(Step::Future).map_err(|error| Failure::Arguments(vec![error]))
            }
        }
    }
}

/// The outcome as the client may get it: of the kind that was called, and with what a handler's would have.
fn finish(outcome: internal::Outcome, kind: CallKind, restricted: bool, uri: Option<&str>) -> internal::Outcome {
    let mut reply = outcome?;
    let fits = match (&mut reply, kind) {
        (Reply::Tool(_), CallKind::Tool)
        | (Reply::Prompt(_), CallKind::Prompt)
        | (Reply::Completion(_), CallKind::Completion)
        | (Reply::Custom(_), CallKind::Custom) => true,
        (Reply::Read(result), CallKind::Resource) => {
            // A result of a layer's own, or of another caller.
            result.guarded |= restricted;
            for contents in &mut result.contents {
                contents.uri.get_or_insert_with(|| uri.unwrap_or_default().to_owned());
            }
            true
        }
        _ => false,
    };
    if !fits {
        let text = format!("a layer around a {} has returned the result of something else", kind.as_str());
        tracing::error!("{text}");
        return Err(internal_error(&text));
    }
    Ok(reply)
}

fn internal_error(text: &str) -> Failure {
    RpcError::new(RpcError::INTERNAL, text.to_owned()).into()
}
