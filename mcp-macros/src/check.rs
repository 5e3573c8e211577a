//! Everything a handler may not be. Checks of a single key happen where it is read (`attr`, `param`).

use syn::spanned::Spanned as _;
use syn::{ReceiverKind, Safety, Signature};

use crate::errors::Errors;
use crate::handler::{Handler, Kind};
use crate::name;
use crate::param::Source;
use crate::uri;

/// Judges a handler; `in_block` if it stands in an impl block with `#[handlers]`.
pub(crate) fn handler(handler: &Handler, sig: &Signature, in_block: bool, errors: &mut Errors) {
    ordinary_function(sig, errors);
    no_generics(handler, sig, errors);
    receiver(handler, in_block, errors);
    wire_name(handler, errors);
    hints(handler, errors);
    waiting(handler, errors);
    arguments(handler, errors);
    if handler.kind == Kind::Resource {
        resource_uri(handler, errors);
    }
}

fn ordinary_function(sig: &Signature, errors: &mut Errors) {
    let message = "a handler is an ordinary `fn` or `async fn`";
    if let Some(token) = &sig.constness {
        errors.at(token.span(), message);
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(token.span(), message);
    }
    if let Some(abi) = &sig.abi {
        errors.on(abi, message);
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, message);
    }
}

fn no_generics(handler: &Handler, sig: &Signature, errors: &mut Errors) {
    let what = handler.kind.attribute();
    if !sig.generics.params.is_empty() {
        errors.on(&sig.generics.params, format!("a {what} has one schema, so it cannot be generic"));
    }
    if let Some(clause) = &sig.generics.where_clause {
        errors.on(clause, "a handler cannot have a where clause");
    }
}

fn receiver(handler: &Handler, in_block: bool, errors: &mut Errors) {
    let Some(receiver) = &handler.receiver else { return };
    let shared = matches!(receiver.kind, ReceiverKind::Reference(_, None, None));
    if !in_block {
        let what = handler.kind.attribute();
        errors.on(receiver, format!("put `#[handlers]` on the impl block: it collects the methods with `#[{what}]`"));
    } else if !shared {
        errors.on(receiver, "calls run at the same time and share the state: take `&self`");
    }
}

fn wire_name(handler: &Handler, errors: &mut Errors) {
    let (wire, span) = handler.name();
    let what = handler.kind.attribute();
    if handler.kind == Kind::Resource {
        return;
    }
    if let Some(problem) = name::problem(&wire) {
        errors.at(span, format!("{what} name `{wire}` {problem}; set another with `name = \"…\"`"));
    }
}

fn hints(handler: &Handler, errors: &mut Errors) {
    let given = |key: &str| handler.options.hints.iter().find(|(hint, value)| hint == key && *value);
    if let (Some((_, _)), Some((destructive, _))) = (given("read_only"), given("destructive")) {
        errors.at(destructive.span(), "a read-only tool cannot be destructive");
    }
}

/// What makes no sense for a function that never waits.
fn waiting(handler: &Handler, errors: &mut Errors) {
    if let (Some(blocking), Some(_)) = (handler.options.blocking, handler.asyncness) {
        errors.at(blocking, "`blocking` is for a `fn` that takes its time; an `async fn` awaits instead");
    }
    if let (Some((timeout, _)), None, None) = (&handler.options.timeout, handler.options.blocking, handler.asyncness) {
        errors.at(*timeout, "a `fn` cannot be interrupted: make it an `async fn`, or add `blocking`");
    }
}

fn arguments(handler: &Handler, errors: &mut Errors) {
    let mut contexts = handler.params.iter().filter(|param| matches!(param.source, Source::Server(_)));
    if let Some(second) = contexts.nth(1) {
        errors.on(&second.ty, "the context is taken already; one reference is enough");
    }
    let mut names: Vec<&str> = Vec::new();
    for argument in handler.arguments() {
        if names.contains(&&*argument.name) {
            errors.at(argument.span, format!("there are two arguments called `{}`", argument.name));
        }
        names.push(&argument.name);
        if let Some(header) = &argument.header {
            let text = header.value();
            let token =
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
            if handler.kind != Kind::Tool {
                errors.on(header, "only arguments of a tool travel in headers");
            } else if !token {
                errors.on(header, "a header name has letters, digits and `-`, for example `header = \"Region\"`");
            }
        }
        if let (Some(span), true) = (argument.flatten, handler.kind != Kind::Tool) {
            errors.at(span, "only a tool has structured arguments to flatten");
        }
        if let (Some(complete), Kind::Tool) = (&argument.complete, handler.kind) {
            errors.on(complete, "clients complete arguments of prompts and of resource templates, not of tools");
        }
    }
}

fn resource_uri(handler: &Handler, errors: &mut Errors) {
    let Some(literal) = &handler.options.uri else {
        return errors.at(handler.ident.span(), "where is it? write `#[resource(\"note://{id}\")]`");
    };
    let text = literal.value();
    if let Some(problem) = uri::scheme_problem(&text) {
        return errors.on(literal, problem);
    }
    let parts = match uri::parse(&text) {
        Ok(parts) => parts,
        Err(problem) => return errors.on(literal, problem),
    };
    let variables: Vec<&str> = uri::variables(&parts).collect();
    for (index, variable) in variables.iter().enumerate() {
        if variables[..index].contains(variable) {
            errors.on(literal, format!("`{{{variable}}}` is there twice"));
        } else if handler.arguments().all(|argument| argument.name != *variable) {
            errors.on(literal, format!("`{{{variable}}}` has no argument; add `{variable}: String` to the function"));
        }
    }
    for argument in handler.arguments().filter(|argument| !variables.contains(&&*argument.name)) {
        let hint = match (name::closest(&argument.name, variables.iter().copied()), variables.is_empty()) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, true) => format!("a fixed URI takes no arguments; write `{text}/{{{}}}`", argument.name),
            (None, false) => format!("add `{{{}}}` to it", argument.name),
        };
        errors.at(argument.span, format!("`{}` is not in `{text}`; {hint}", argument.name));
    }
}
