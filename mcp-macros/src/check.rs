//! The checks of a parsed handler. A single key is checked where it is parsed (`attr`, `param`).

use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Expr, GenericParam, Ident, LitStr, Safety, Signature};

use crate::attr::{Name, Options, Size, limits};
use crate::describe::impl_trait;
use crate::errors::Errors;
use crate::handler::{Handler, Kind, State};
use crate::name;
use crate::param::{Default, Source, spelling};
use crate::uri;

/// Checks a handler. `in_block`: whether it is in an impl block with `#[handlers]`.
pub(crate) fn handler(handler: &Handler, sig: &Signature, in_block: bool, errors: &mut Errors) {
    ordinary_function(sig, errors);
    no_generics(handler, sig, errors);
    receiver(handler, in_block, errors);
    return_type(handler, errors);
    item(handler, in_block, errors);
    wire_name(handler, errors);
    hints(handler, errors);
    waiting(handler, errors);
    task(handler, errors);
    limits::check(handler, errors);
    arguments(handler, errors);
    argument_types(handler, errors);
    if handler.kind == Kind::Resource {
        resource_uri(handler, errors);
        cache(&handler.options, errors);
    }
}

/// A cache scope needs a `ttl`: the scope alone does not say how long to cache.
pub(crate) fn cache(options: &Options, errors: &mut Errors) {
    if let (Some((span, _)), None, false) = (options.public, options.ttl, options.broken) {
        errors.push_at(span, "say how long, too: `ttl = \"60s\"`");
    }
}

fn ordinary_function(sig: &Signature, errors: &mut Errors) {
    let message = "a handler is an ordinary `fn` or `async fn`";
    if let Safety::Unsafe(token) = &sig.safety {
        errors.push_at(token.span(), message);
    }
    if let Some(abi) = &sig.abi {
        errors.push_spanned(abi, message);
    }
    if let Some(variadic) = &sig.variadic {
        errors.push_spanned(variadic, message);
    }
}

fn no_generics(handler: &Handler, sig: &Signature, errors: &mut Errors) {
    let what = handler.kind.attribute();
    let generic = sig.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
    if generic {
        errors.push_spanned(&sig.generics.params, format!("a {what} has one schema, so it cannot be generic"));
    } else if !sig.generics.params.is_empty() {
        errors.push_spanned(&sig.generics.params, "a handler needs no lifetimes: its arguments are owned");
    }
    if let Some(clause) = &sig.generics.where_clause {
        errors.push_spanned(clause, "a handler cannot have a where clause");
    }
}

fn receiver(handler: &Handler, in_block: bool, errors: &mut Errors) {
    let Some(receiver) = &handler.receiver else { return };
    if !in_block {
        let what = handler.kind.attribute();
        errors.push_spanned(
            receiver,
            format!("put `#[handlers]` on the impl block: it collects the methods with `#[{what}]`, by this name"),
        );
    } else if State::of(receiver).is_none() {
        errors.push_spanned(
            receiver,
            "calls run at the same time and share the state: take `&self`, or `self: Arc<Self>`",
        );
    }
}

/// An `impl Trait` captures the lifetimes of what the function borrows, so it could not leave the call.
fn return_type(handler: &Handler, errors: &mut Errors) {
    let Some(ty) = &handler.output.0 else { return };
    let tokens = ty.to_token_stream();
    let captures_nothing = tokens.to_string().replace(' ', "").contains("use<>");
    let borrows = matches!(handler.receiver.as_ref().map(State::of), Some(Some(State::Borrowed)))
        || handler.params.iter().any(|param| matches!(param.source, Source::Server(_)));
    if let (Some(keyword), true, false) = (impl_trait(&tokens), borrows, captures_nothing) {
        errors.push_at(
            keyword,
            "name the type: `impl …` borrows what the function borrows, unless it ends with `+ use<>`",
        );
    }
}

/// Only a function has a type beside it.
fn item(handler: &Handler, in_block: bool, errors: &mut Errors) {
    if let (Some(item), true) = (&handler.options.item, in_block) {
        errors.push_at(item.span(), "`item` names what `tools![]` lists; a method is mounted with its value");
    }
}

fn wire_name(handler: &Handler, errors: &mut Errors) {
    let (wire, span) = handler.name();
    let what = handler.kind.attribute();
    // A constant is checked when the handler is registered.
    if handler.kind == Kind::Resource || matches!(handler.options.name, Some(Name::Constant(_))) {
        return;
    }
    if let Some(problem) = name::problem(&wire) {
        errors.push_at(span, format!("{what} name `{wire}` {problem}; set another with `name = \"…\"`"));
    }
}

fn hints(handler: &Handler, errors: &mut Errors) {
    let opposites = |(hint, value): &&(Ident, bool)| *value && (hint == "read_only" || hint == "destructive");
    if let Some((second, _)) = handler.options.hints.iter().filter(opposites).nth(1) {
        errors.push_at(second.span(), "a read-only tool cannot be destructive");
    }
}

/// `blocking` and `timeout` must fit the function, which may be sync or async.
fn waiting(handler: &Handler, errors: &mut Errors) {
    if let (Some(blocking), Some(_)) = (handler.options.blocking, handler.asyncness) {
        errors.push_at(blocking, "`blocking` is for a `fn` that takes its time; an `async fn` awaits instead");
    }
    if let (Some((timeout, _)), None, None) = (&handler.options.timeout, handler.options.blocking, handler.asyncness) {
        errors.push_at(*timeout, "a `fn` cannot be interrupted: make it an `async fn`, or add `blocking`");
    }
}

/// A task continues after the response to its call, which a plain `fn` cannot.
fn task(handler: &Handler, errors: &mut Errors) {
    let Options { task, asks_first, durable, blocking, broken, .. } = &handler.options;
    if *broken {
        return;
    }
    if let (Some((span, _)), None, None) = (task, blocking, handler.asyncness) {
        errors.push_at(*span, "a `fn` is done before a task could begin: make it an `async fn`, or add `blocking`");
    }
    if let (Some(span), None) = (asks_first, task) {
        errors.push_at(*span, "only a task can ask first: `task, asks_first`");
    }
    match (durable, task, blocking) {
        (Some(span), None, _) => errors.push_at(*span, "only a task can be durable: `task, durable`"),
        (Some(span), Some(_), Some(_)) => {
            errors.push_at(
                *span,
                "a durable task is stopped at an `.await` and goes on elsewhere: make it an `async fn`",
            );
        }
        _ => {}
    }
}

fn arguments(handler: &Handler, errors: &mut Errors) {
    let contexts = handler.params.iter().filter(|param| matches!(param.source, Source::Server(_)));
    for another in contexts.skip(1) {
        errors.push_spanned(&another.ty, "the context is taken already; one reference is enough");
    }
    let mut names: Vec<&str> = Vec::new();
    for argument in handler.arguments() {
        // The name of a flattened struct is no argument's; its fields are compared when the tool is registered.
        if argument.flatten.is_none() {
            if names.contains(&&*argument.name) {
                errors.push_at(argument.span, format!("there are two arguments called `{}`", argument.name));
            }
            names.push(&argument.name);
        }
        if let Some(header) = &argument.header {
            let text = header.value();
            let token =
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
            if handler.kind != Kind::Tool {
                errors.push_spanned(header, "only arguments of a tool travel in headers");
            } else if !token {
                errors.push_spanned(
                    header,
                    "a header name has letters, digits and `-`, for example `header = \"Region\"`",
                );
            }
        }
        match argument.flatten {
            Some(span) if handler.kind != Kind::Tool => {
                errors.push_at(span, "only a tool has structured arguments to flatten");
            }
            Some(span) if argument.other_keys => {
                errors.push_at(
                    span,
                    "`flatten` stands alone: the fields of the struct have names, docs and defaults of their own",
                );
            }
            _ => {}
        }
        if let (Some(complete), Kind::Tool) = (&argument.complete, handler.kind) {
            errors.push_spanned(
                complete,
                "clients complete arguments of prompts and of resource templates, not of tools",
            );
        }
    }
}

/// What the spelling of a type rules out; an alias or a type of the user's is checked when the handler is built.
fn argument_types(handler: &Handler, errors: &mut Errors) {
    for param in &handler.params {
        let Source::Caller(argument) = &param.source else { continue };
        if handler.kind != Kind::Tool && spelling::is_structured(&param.ty) {
            let message = format!("`{}` arrives as text: take a `String`, and parse it", argument.name);
            errors.push_spanned(&param.ty, message);
        }
        if let (Some(Default::Expr(default @ Expr::Lit(_))), Some(inner)) =
            (&argument.default, spelling::optional(&param.ty))
        {
            let inner = inner.to_token_stream();
            let message = format!("an `Option` is `None` if it is omitted; for a default, take a `{inner}`");
            errors.push_spanned(default, message);
        }
    }
}

fn resource_uri(handler: &Handler, errors: &mut Errors) {
    let Some(literal) = &handler.options.uri else {
        if !handler.options.broken {
            errors.push_at(handler.ident.span(), "where is it? write `#[resource(\"note://{id}\")]`");
        }
        return;
    };
    let text = literal.value();
    if let Some(problem) = uri::scheme_problem(&text) {
        return errors.push_spanned(literal, problem);
    }
    let parts = match uri::parse(&text) {
        Ok(parts) => parts,
        Err(problem) => return errors.push_spanned(literal, problem),
    };
    let variables: Vec<&str> = uri::variables(&parts).collect();
    if let Some((span, size)) = &handler.options.size {
        match size {
            Size::Counted => {
                errors.push_at(*span, "a function's contents are not counted: give the bytes, `size = 1024`");
            }
            Size::Given(_) if !variables.is_empty() => errors.push_at(*span, "a family of resources has no one size"),
            Size::Given(_) => {}
        }
    }
    for (index, variable) in variables.iter().enumerate() {
        if variables[..index].contains(variable) {
            errors.push_spanned(literal, format!("`{{{variable}}}` is there twice"));
        }
    }
    if !handler.refused_params {
        variables_are_arguments(handler, literal, &variables, errors);
    }
}

/// Every variable must have an argument, and every argument a variable. A misspelt pair is reported once.
fn variables_are_arguments(handler: &Handler, literal: &LitStr, variables: &[&str], errors: &mut Errors) {
    let text = literal.value();
    let is_argument = |variable: &str| handler.arguments().any(|argument| argument.name == variable);
    let mut unused: Vec<&str> = variables.iter().copied().filter(|variable| !is_argument(variable)).collect();
    let named = handler.arguments().filter(|argument| argument.flatten.is_none());
    for argument in named.filter(|argument| !variables.contains(&&*argument.name)) {
        let meant = name::closest(&argument.name, unused.iter().copied());
        let hint = match meant.or(unused.first().copied().filter(|_| unused.len() == 1)) {
            Some(meant) => {
                unused.retain(|variable| *variable != meant);
                format!("did you mean `{meant}`?")
            }
            None if variables.is_empty() => {
                format!("a fixed URI takes no arguments; write `{text}/{{{}}}`", argument.name)
            }
            None => format!("add `{{{}}}` to it", argument.name),
        };
        errors.push_at(argument.span, format!("`{}` is not in `{text}`; {hint}", argument.name));
    }
    for variable in unused {
        errors.push_spanned(
            literal,
            format!("`{{{variable}}}` has no argument; add `{variable}: String` to the function"),
        );
    }
}
