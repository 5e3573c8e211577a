//! [`Handler`]: the model of an annotated function, between parsing and code generation.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Ident, Path, Receiver, ReceiverKind, ReturnType, Signature, Type, Visibility};

use crate::attr::condition::{self, Condition};
use crate::attr::{Name, Options};
use crate::check;
use crate::doc;
use crate::elicit::{self, Form};
use crate::errors::Errors;
use crate::param::{Argument, Param, Source};

/// Which macro a handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
    /// `#[derive(Resource)]`, which has the keys of a resource but no function.
    Derive,
}

impl Kind {
    /// The attribute's name.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource | Kind::Derive => "resource",
        }
    }

    /// The kind of a handler attribute, by the last segment of its path.
    pub(crate) fn of(attr: &Attribute) -> Option<Kind> {
        let name = &attr.path().segments.last()?.ident;
        [Kind::Tool, Kind::Prompt, Kind::Resource].into_iter().find(|kind| name == kind.attribute())
    }
}

/// A parsed handler.
pub(crate) struct Handler {
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    pub(crate) description: Option<TokenStream>,
    pub(crate) cfgs: Vec<Attribute>,
    /// The `cfg`s under which these are its attributes.
    pub(crate) conditions: Vec<Attribute>,
    /// Its mistakes, which matter only under these conditions.
    pub(crate) error: Option<TokenStream>,
    pub(crate) ident: Ident,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) params: Vec<Param>,
    pub(crate) asyncness: Option<Span>,
    /// The return type, and where errors about it belong.
    pub(crate) output: (Option<Type>, Span),
    /// Whether a parameter was rejected; it must not be reported as missing, too.
    pub(crate) refused_params: bool,
    /// The forms its body asks for, as far as they can be found.
    pub(crate) forms: Vec<Form>,
}

impl Handler {
    /// Parses and checks a handler, and removes `#[arg]` and doc attributes from its parameters. Where these depend on
    /// a `cfg_attr`, there is a handler for each combination of its conditions; otherwise there is one. `known`: the
    /// conditions under which it is a handler at all.
    pub(crate) fn variants(
        kind: Kind,
        attr: &TokenStream,
        attrs: &[Attribute],
        sig: &mut Signature,
        (body, in_block): (&dyn ToTokens, bool),
        known: &[Condition],
        errors: &mut Errors,
    ) -> Vec<Self> {
        let given = sig.clone();
        let params = given.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(param) => Some(&param.attrs),
            FnArg::Receiver(_) => None,
        });
        let predicates = params.flat_map(|attrs| condition::predicates(attrs, describes_param)).collect();
        let combinations = condition::combinations(predicates, known);
        let read = combinations.into_iter().map(|conditions| {
            *sig = given.clone();
            for input in &mut sig.inputs {
                if let FnArg::Typed(param) = input {
                    condition::resolve(&mut param.attrs, &conditions, describes_param);
                }
            }
            let mut own = Errors::default();
            let errors = if conditions.is_empty() { &mut *errors } else { &mut own };
            let mut handler = Handler::read(kind, attr.clone(), attrs, sig, body, errors);
            check::handler(&handler, sig, in_block, errors);
            handler.conditions = conditions.iter().map(Condition::cfg).collect();
            handler.error = own.into_compile_error();
            handler
        });
        read.collect()
    }

    /// Parses a handler, and removes `#[arg]` and doc attributes from its parameters.
    fn read(
        kind: Kind,
        attr: TokenStream,
        attrs: &[Attribute],
        sig: &mut Signature,
        body: &dyn ToTokens,
        errors: &mut Errors,
    ) -> Self {
        let options = Options::read(kind, attr, errors);
        let description = match &options.description {
            Some(text) => Some(text.to_token_stream()),
            None => doc::description(attrs),
        };
        let mut receiver = None;
        let mut params = Vec::new();
        let mut refused_params = false;
        for input in &mut sig.inputs {
            match input {
                FnArg::Receiver(found) => {
                    refuse_arg(found, errors);
                    receiver = Some(found.clone());
                }
                FnArg::Typed(param) => match Param::read(param, errors) {
                    Some(param) => params.push(param),
                    None => refused_params = true,
                },
            }
        }
        Handler {
            kind,
            options,
            description,
            cfgs: attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect(),
            conditions: Vec::new(),
            error: None,
            ident: sig.ident.clone(),
            receiver,
            params,
            asyncness: sig.asyncness.map(|token| token.span()),
            output: match &sig.output {
                ReturnType::Default => (None, sig.ident.span()),
                ReturnType::Type(_, ty) => (Some((**ty).clone()), ty.span()),
            },
            refused_params,
            forms: elicit::read(sig, body, errors),
        }
    }

    /// The name on the wire, and its span; the path of a constant stands for its value.
    pub(crate) fn name(&self) -> (String, Span) {
        match &self.options.name {
            Some(Name::Literal(literal)) => (literal.value(), literal.span()),
            Some(Name::Constant(path)) => (path.to_token_stream().to_string().replace(' ', ""), path.span()),
            None => (self.ident.unraw().to_string(), self.ident.span()),
        }
    }

    /// The arguments callers send.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.params.iter().filter_map(|param| match &param.source {
            Source::Caller(argument) => Some(&**argument),
            Source::Server(_) => None,
        })
    }
}

/// Whether an attribute of a parameter is for us: rustc accepts neither there.
fn describes_param(attr: &Attribute) -> bool {
    attr.path().is_ident("arg") || attr.path().is_ident("doc")
}

/// How a method takes the state.
pub(crate) enum State {
    /// `&self` or `self: &Arc<Self>`
    Borrowed,
    /// `self: Arc<Self>`
    Arc,
}

impl State {
    /// The form of a receiver, if it is one that calls can share.
    pub(crate) fn of(receiver: &Receiver) -> Option<State> {
        let is_arc = |ty: &Type| matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Arc"));
        match &receiver.kind {
            ReceiverKind::Reference(_, None, None) => Some(State::Borrowed),
            ReceiverKind::Typed(_, ty) => match &**ty {
                Type::Reference(reference) if reference.mutability.is_none() && is_arc(&reference.elem) => {
                    Some(State::Borrowed)
                }
                ty => is_arc(ty).then_some(State::Arc),
            },
            _ => None,
        }
    }
}

/// Removes `#[arg]` from `&self`, and reports it.
fn refuse_arg(receiver: &mut Receiver, errors: &mut Errors) {
    receiver.attrs.retain(|attr| {
        let ours = attr.path().is_ident("arg");
        if ours {
            errors.push_spanned(attr, "`#[arg]` describes what the caller sends; `self` is the server's");
        }
        !ours
    });
}

/// The path of the runtime's hidden module.
pub(crate) fn private(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(path) => quote!(#path::__private),
        None => quote!(::mcp_runtime::__private),
    }
}

/// A function with its body unparsed, so that the macro expands, and editors keep working, while the
/// body is being typed.
pub(crate) struct FnItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
}

impl Parse for FnItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(FnItem {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToTokens for FnItem {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let FnItem { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}
