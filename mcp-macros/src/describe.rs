//! Generates the statements that build a handler with the runtime's `HandlerBuilder`.
//!
//! The user's types and expressions keep their spans, so that the compiler's errors point at them.
//! Names introduced here have the macro's span, so that they cannot collide with the user's.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Ident, LitStr, Path, Type};

use crate::attr::{Name, Options, Size, is_string, layer};
use crate::elicit::Form;
use crate::handler::{Handler, Kind, State};
use crate::param::{Argument, Constraint, Default, Param, Source};

/// The body that builds the handler of a function, under the conditions of each of its variants.
pub(crate) fn describe_variants(variants: &[Handler], function: &TokenStream) -> TokenStream {
    let described = variants.iter().map(|handler| (&handler.conditions, describe(handler, function, false)));
    match described.clone().next() {
        Some((conditions, described)) if conditions.is_empty() => described,
        _ => described.map(|(conditions, described)| quote!(#(#conditions)* { #described })).collect(),
    }
}

/// The statements that build a handler, where `__mcp` is the runtime's hidden module. `function` is the
/// path to call. `in_block`: whether the state is available as `__this`.
pub(crate) fn describe(handler: &Handler, function: &TokenStream, in_block: bool) -> TokenStream {
    if let Some(error) = &handler.error {
        return quote!(#error ::core::unreachable!());
    }
    let Options { title, icons, meta, timeout, .. } = &handler.options;
    let name = match &handler.options.name {
        Some(Name::Constant(path)) => quote!(#path),
        _ => handler.name().0.to_token_stream(),
    };
    let description = &handler.description;
    let new = match (handler.kind, &handler.options.uri) {
        (Kind::Tool, _) => quote!(__mcp::tool(#name)),
        (Kind::Prompt, _) => quote!(__mcp::prompt(#name)),
        (_, uri) => quote!(__mcp::resource(#uri, #name)),
    };
    let title = title.iter();
    let description = description.iter();
    let meta = meta.iter();
    let timeout = timeout.iter().map(|(_, millis)| millis);
    let hints = handler.options.hints.iter().map(|(key, value)| quote!(__builder.#key(#value);));
    let task = handler.options.task.map(|(_, required)| {
        let asks_first = handler.options.asks_first.is_some();
        let durable = handler.options.durable.map(|_| quote!(__builder.durable();));
        quote!(__builder.task(#required, #asks_first); #durable)
    });
    let requires = handler.options.requires.iter().map(|variant| format_ident!("{variant}"));
    let scopes = &handler.options.scopes;
    // Spanned at a scope, where the compiler says that it needs a feature.
    let scopes = scopes.first().map(|first| quote_spanned!(first.span()=> __builder.scopes([#(#scopes),*]);));
    let limits = handler.options.limits.statements();
    let about = resource_keys(&handler.options);
    let visible = handler.options.visible_if.as_ref().map(|predicate| visible(predicate, in_block));
    let layers = handler.options.layers.iter().map(|layer| layer::add(layer, in_block));
    let declared = handler.params.iter().enumerate().map(|(index, param)| declare(index, param));
    let completers = handler.arguments().filter_map(|argument| completer(argument, in_block));
    let forms = handler.forms.iter().map(asks);
    let returns = returns(handler);
    let run = run(handler, function);
    quote! {
        let mut __builder = #new;
        #(__builder.title(#title);)*
        #(__builder.description(#description);)*
        #(__builder.icon(#icons);)*
        #(__builder.meta(__mcp::json!({ #meta }));)*
        #(__builder.timeout_ms(#timeout);)*
        #(#hints)*
        #task
        #about
        #(__builder.requires(__mcp::ClientCapability::#requires);)*
        #scopes
        #limits
        #visible
        #(__builder.#layers;)*
        #(#declared)*
        #(#completers)*
        #(#forms)*
        #returns
        #run
    }
}

/// The statements for the keys that only resources have.
pub(crate) fn resource_keys(options: &Options) -> TokenStream {
    let Options { mime, audience, priority, last_modified, size, subscribe, ttl, public, .. } = options;
    let subscribe = subscribe.then(|| quote!(__builder.subscribe();));
    let public = public.is_some_and(|(_, public)| public);
    let ttl = ttl.iter();
    let mime = mime.iter();
    let audience = (!audience.is_empty()).then(|| {
        let roles = audience.iter().map(role);
        quote!(__builder.audience(&[#(#roles),*]);)
    });
    let priority = priority.iter();
    let last_modified = last_modified.iter();
    let size = match size {
        Some((_, Size::Given(bytes))) => Some(quote!(__builder.size(#bytes);)),
        Some((_, Size::Counted)) | None => None,
    };
    quote! {
        #(__builder.mime(#mime);)*
        #audience
        #(__builder.priority(#priority);)*
        #(__builder.last_modified(#last_modified);)*
        #size
        #subscribe
        #(__builder.cache(#ttl, #public);)*
    }
}

/// The statement that sets the visibility predicate. A path that begins with `Self::` is a method.
fn visible(predicate: &Expr, in_block: bool) -> TokenStream {
    let of_self = |path: &Path| in_block && path.segments.first().is_some_and(|first| first.ident == "Self");
    // Spanned at the predicate, so that type errors point at it.
    let visible_if = quote_spanned!(predicate.span()=> visible_if);
    match predicate {
        Expr::Path(path) if of_self(&path.path) => {
            let state = share_state();
            quote! {
                {
                    #state
                    __builder.#visible_if(move |__ctx| #predicate(&__this, __ctx));
                }
            }
        }
        _ => quote!(__builder.#visible_if(#predicate);),
    }
}

fn role(who: &LitStr) -> TokenStream {
    if who.value() == "user" { quote!(__mcp::Role::User) } else { quote!(__mcp::Role::Assistant) }
}

/// The statement that declares a parameter.
fn declare(index: usize, param: &Param) -> TokenStream {
    let Source::Caller(argument) = &param.source else { return quote!(__builder.takes_context();) };
    let Argument { name, description, default, header, constraints, flatten, .. } = &**argument;
    let (key, ty) = (key(index), &param.ty);
    if flatten.is_some() {
        return quote!(let #key = __builder.flatten::<#ty>(););
    }
    let description = description.iter();
    let header = header.iter();
    let (keywords, values): (Vec<_>, Vec<_>) = constraints.iter().map(Constraint::tokens).unzip();
    let info = quote! {
        __mcp::ArgInfo::new(#name) #(.description(#description))* #(.header(#header))* #(.keyword(#keywords, #values))*
    };
    match default {
        // Most likely `&Context` is meant, so the error about the type is another one.
        None if is_context(ty) => quote!(let #key = __mcp::own_context::<#ty, _>(&mut __builder, #info);),
        None => quote!(let #key = __builder.arg::<#ty>(#info);),
        Some(default) => {
            let value = default_value(default);
            quote!(let #key = __builder.arg_or::<#ty>(#info, #value);)
        }
    }
}

fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
}

/// An expression for a function that returns the default.
fn default_value(default: &Default) -> TokenStream {
    match default {
        Default::Trait(span) => quote_spanned!(*span=> ::core::default::Default::default),
        Default::Expr(expr) if is_string(expr) => quote_spanned!(expr.span()=> || __mcp::default_text(#expr)),
        Default::Expr(expr) => quote_spanned!(expr.span()=> || #expr),
    }
}

/// The statement that sets the completion function of an argument. The compiler selects its signature; a
/// path that begins with `Self::` may be a method, so it gets the state.
fn completer(argument: &Argument, in_block: bool) -> Option<TokenStream> {
    let path = argument.complete.as_ref()?;
    let name = &argument.name;
    let of_self = in_block && path.segments.first().is_some_and(|first| first.ident == "Self");
    let state = if of_self { quote!(::core::clone::Clone::clone(&__this)) } else { quote!(__mcp::Arc::new(())) };
    // Spanned at the path, so that type errors point at it.
    let complete = quote_spanned!(path.span()=> complete);
    Some(quote!(__builder.#complete(#name, #state, #path);))
}

/// The statement that checks a form the handler asks for.
fn asks(Form { ty, is_pattern }: &Form) -> TokenStream {
    // Written as in the body, so that an error in it is the same error, which rustc reports once.
    if *is_pattern {
        quote!(__builder.form(__mcp::check_form_of(|#ty { .. }| {}).check());)
    } else {
        quote!(__builder.form(__mcp::check_form::<#ty>().check());)
    }
}

/// The statement that clones the `Arc` of the state, for a closure or future that outlives this scope.
pub(crate) fn share_state() -> TokenStream {
    quote!(let __this = ::core::clone::Clone::clone(&__this);)
}

/// The statement that declares the return type.
fn returns(handler: &Handler) -> TokenStream {
    let declare = format_ident!("{}_returns", handler.kind.attribute());
    let ty = match &handler.output.0 {
        // The type has no name: let the compiler infer it, and report it there.
        Some(ty) => match impl_trait(&ty.to_token_stream()) {
            Some(keyword) => quote_spanned!(keyword=> _),
            None => quote!(#ty),
        },
        None => quote_spanned!(handler.output.1=> ()),
    };
    quote!(let __returns = __mcp::#declare::<#ty>(&mut __builder);)
}

/// The `impl` of a type like `impl Trait` or `Option<impl Trait>`.
pub(crate) fn impl_trait(ty: &TokenStream) -> Option<Span> {
    ty.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(word) if word == "impl" => Some(word.span()),
        TokenTree::Group(group) => impl_trait(&group.stream()),
        _ => None,
    })
}

/// The expression that finishes the builder with a sync, async or blocking call. The call is spanned at
/// the return type, so that the compiler reports a future that is not `Send` there.
///
/// A return value that borrows becomes a reply within the closure or future, where its owner lives. Its conversion
/// names the type as `returns` does, at the same place: the compiler reports an unsupported type once.
fn run(handler: &Handler, function: &TokenStream) -> TokenStream {
    let span = handler.output.1;
    let taken = handler.params.iter().enumerate().map(|(index, param)| take(index, param));
    let runs_later = handler.asyncness.is_some() || handler.options.blocking.is_some();
    let this = handler.receiver.as_ref().map(|receiver| match State::of(receiver) {
        // A call that runs later has an `Arc` of its own.
        Some(State::Arc) if runs_later => quote!(__this),
        Some(State::Arc) => quote!(::core::clone::Clone::clone(&__this)),
        Some(State::Borrowed) | None => quote!(&__this),
    });
    let passed = handler.params.iter().enumerate().map(|(index, param)| pass(index, param));
    let passed = this.iter().cloned().chain(passed);
    let call = quote!(#function(#(#passed),*));
    let awaited = if handler.asyncness.is_some() { quote!(#call.await) } else { call };
    let borrowed = handler.output.0.as_ref().filter(|ty| borrows(&ty.to_token_stream()));
    let (value, suffix) = match borrowed {
        Some(ty) => {
            let return_type = format_ident!("{}_return_type", handler.kind.attribute());
            (quote!(__mcp::#return_type::<#ty>().convert(#awaited, &__info)), "_borrowed")
        }
        None => (awaited, ""),
    };
    let (how, work) = match (handler.asyncness, handler.options.blocking) {
        (Some(_), _) => ("future", quote_spanned!(span=> async move { #value })),
        (None, Some(_)) => ("blocking", quote_spanned!(span=> move || #value)),
        (None, None) => ("sync", value),
    };
    let how = format_ident!("{how}{suffix}", span = span);
    let state = (this.is_some() && runs_later).then(share_state);
    let (returns, info) = match borrowed {
        Some(_) => (None, Some(quote!(, __info))),
        None => (Some(quote!(__returns,)), None),
    };
    quote! {
        __builder.#how(#returns move |__args, __invocation #info| {
            #state
            #(#taken)*
            ::core::result::Result::Ok(#work)
        })
    }
}

/// Whether a type has a lifetime other than `'static`, or one that is left out: `&str`, `Cow<'_, str>`, `Cow<str>`.
fn borrows(ty: &TokenStream) -> bool {
    let mut tokens = ty.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let next = tokens.peek().map(ToString::to_string).unwrap_or_default();
        let found = match token {
            // A lifetime is a `'` and a word.
            TokenTree::Punct(punct) if punct.as_char() == '\'' => next != "static",
            TokenTree::Punct(punct) if punct.as_char() == '&' => next != "'",
            TokenTree::Ident(word) if word == "Cow" && next == "<" => {
                let _ = tokens.next();
                tokens.peek().is_some_and(|first| first.to_string() != "'")
            }
            TokenTree::Group(group) => borrows(&group.stream()),
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}

/// The statement that reads a parameter's value.
fn take(index: usize, param: &Param) -> TokenStream {
    let (key, value) = (key(index), value(index));
    match &param.source {
        Source::Caller(_) => quote!(let #value = __args.take(&#key)?;),
        Source::Server(ty) => extract(&value, ty),
    }
}

fn extract(value: &Ident, ty: &Type) -> TokenStream {
    quote!(let #value = __mcp::extract::<#ty>(__invocation);)
}

/// The expression that passes a parameter's value to the function.
fn pass(index: usize, param: &Param) -> TokenStream {
    let value = value(index);
    match &param.source {
        Source::Caller(_) => quote!(#value),
        Source::Server(_) => quote!(&#value),
    }
}

fn key(index: usize) -> Ident {
    format_ident!("__arg{index}")
}

fn value(index: usize) -> Ident {
    format_ident!("__value{index}")
}
