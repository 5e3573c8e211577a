//! Handlers to tokens.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, LitStr};

use crate::attr::{Options, Size};
use crate::check;
use crate::errors::Errors;
use crate::handler::{FnItem, Handler, Kind, private};
use crate::param::{Argument, Default, Param, Source};

// Input
//     #[tool]
//     fn add(a: i64, b: i64) -> i64 { a + b }
// Output
//     fn add(a: i64, b: i64) -> i64 { a + b }
//     struct add {}
//     const _: () = {
//         use ::mcp_runtime::__private as __mcp;
//         impl __mcp::ToolFn for add {
//             fn tool() -> __mcp::Tool {
//                 let mut __spec = __mcp::tool("add");
//                 let __arg0 = __spec.arg::<i64>(__mcp::ArgInfo::new("a"));
//                 let __arg1 = __spec.arg::<i64>(__mcp::ArgInfo::new("b"));
//                 let __returns = __mcp::tool_returns::<i64>(&mut __spec);
//                 __spec.sync(__returns, move |__args, __caller| Ok(add(__args.take(&__arg0)?, __args.take(&__arg1)?)))
//             }
//         }
//     };
/// Expands `#[tool]`, `#[prompt]` or `#[resource]` on a function.
pub(crate) fn function(kind: Kind, attr: TokenStream, tokens: &TokenStream) -> TokenStream {
    let mut item: FnItem = match syn::parse2(tokens.clone()) {
        Ok(item) => item,
        Err(_) => return not_a_function(kind, tokens),
    };
    let mut errors = Errors::default();
    second_attribute(kind, &mut item.attrs, &mut errors);
    let handler = Handler::read(kind, attr, &item.attrs, &mut item.sig, &mut errors);
    check::handler(&handler, &item.sig, false, &mut errors);
    let private = private(handler.options.krate.as_ref());
    let error = errors.into_compile_error();
    let Registry { trait_fn, method, item: made } = registry(kind);
    let body = match &error {
        None => {
            let ident = &handler.ident;
            describe(&handler, &quote!(#ident))
        }
        // A stand-in: what is wrong is told, and `tools![name]` still finds something.
        Some(_) => quote!(::core::unreachable!()),
    };
    let (ident, vis, cfgs) = (&handler.ident, &item.vis, &handler.cfgs);
    // At the function's name, so that a name which is taken is reported there.
    let proxy = quote_spanned!(ident.span()=> #vis struct #ident {});
    let registration = quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(
            dead_code,
            non_camel_case_types,
            missing_debug_implementations,
            missing_copy_implementations,
            unreachable_pub
        )]
        #proxy

        #(#cfgs)*
        const _: () = {
            use #private as __mcp;

            #[automatically_derived]
            #[diagnostic::do_not_recommend]
            impl __mcp::#trait_fn for #ident {
                #[allow(unused_mut, deprecated)]
                fn #method() -> __mcp::#made {
                    #body
                }
            }
        };
    };
    // A method without `#[handlers]`: items cannot stand in an impl block.
    let registration = handler.receiver.is_none().then_some(registration);
    // Arguments are taken by value because they come from the caller, not because they are consumed.
    quote!(#[allow(clippy::needless_pass_by_value)] #item #registration #error)
}

/// The names a kind goes by in the runtime.
struct Registry {
    trait_fn: Ident,
    method: Ident,
    item: Ident,
}

fn registry(kind: Kind) -> Registry {
    let (trait_fn, method, item) = match kind {
        Kind::Tool => ("ToolFn", "tool", "Tool"),
        Kind::Prompt => ("PromptFn", "prompt", "Prompt"),
        Kind::Resource | Kind::Derive => ("ResourceFn", "resource", "Resource"),
    };
    Registry { trait_fn: format_ident!("{trait_fn}"), method: format_ident!("{method}"), item: format_ident!("{item}") }
}

fn not_a_function(kind: Kind, item: &TokenStream) -> TokenStream {
    let attribute = kind.attribute();
    let message = format!("`#[{attribute}]` goes on a function; on methods too, if their impl block has `#[handlers]`");
    let span = item_keyword(item).map_or_else(Span::call_site, |word| word.span());
    let error = syn::Error::new(span, message).into_compile_error();
    quote!(#item #error)
}

/// The first word of an item that is not an attribute or a visibility.
pub(crate) fn item_keyword(item: &TokenStream) -> Option<Ident> {
    item.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(word) if word != "pub" => Some(word),
        _ => None,
    })
}

/// `#[tool] #[prompt]` on one function: each would expand the other's output.
fn second_attribute(kind: Kind, attrs: &mut Vec<Attribute>, errors: &mut Errors) {
    attrs.retain(|attr| {
        let other = Kind::of(attr);
        if let Some(other) = other {
            errors.on(attr, already(kind, other));
        }
        other.is_none()
    });
}

/// What is wrong with a second attribute on one function.
pub(crate) fn already(kind: Kind, other: Kind) -> String {
    if other == kind {
        return format!("`#[{}]` is given twice", kind.attribute());
    }
    format!("this is a {} already; it cannot be a {}, too", kind.attribute(), other.attribute())
}

/// The expression that describes and builds a handler, where `__mcp` is the runtime's hidden
/// module. `function` is how to name it; a method takes its state from `__this`.
pub(crate) fn describe(handler: &Handler, function: &TokenStream) -> TokenStream {
    let Options { title, icons, meta, timeout, .. } = &handler.options;
    let (name, _) = handler.name();
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
    let hints = handler.options.hints.iter().map(|(key, value)| quote!(__spec.#key(#value);));
    let about = resource_keys(&handler.options);
    let declared = handler.params.iter().enumerate().map(|(index, param)| declare(index, param));
    let completers = handler.arguments().filter_map(|argument| completer(handler, argument));
    let returns = returns(handler);
    let run = run(handler, function);
    quote! {
        let mut __spec = #new;
        #(__spec.title(#title);)*
        #(__spec.description(#description);)*
        #(__spec.icon(#icons);)*
        #(__spec.meta(__mcp::json!({ #meta }));)*
        #(__spec.timeout_ms(#timeout);)*
        #(#hints)*
        #about
        #(#declared)*
        #(#completers)*
        #returns
        #run
    }
}

/// The keys only resources have.
pub(crate) fn resource_keys(options: &Options) -> TokenStream {
    let Options { mime, audience, priority, last_modified, size, .. } = options;
    let mime = mime.iter();
    let audience = (!audience.is_empty()).then(|| {
        let roles = audience.iter().map(role);
        quote!(__spec.audience(&[#(#roles),*]);)
    });
    let priority = priority.iter();
    let last_modified = last_modified.iter();
    let size = match size {
        Some((_, Size::Given(bytes))) => Some(quote!(__spec.size(#bytes);)),
        Some((_, Size::Counted)) | None => None,
    };
    quote! {
        #(__spec.mime(#mime);)*
        #audience
        #(__spec.priority(#priority);)*
        #(__spec.last_modified(#last_modified);)*
        #size
    }
}

fn role(who: &LitStr) -> TokenStream {
    if who.value() == "user" { quote!(__mcp::Role::User) } else { quote!(__mcp::Role::Assistant) }
}

/// The statement that declares an argument, spanned at its type: that is where it may not fit.
fn declare(index: usize, param: &Param) -> TokenStream {
    let Source::Caller(argument) = &param.source else { return TokenStream::new() };
    let Argument { name, description, default, header, flatten, .. } = &**argument;
    let (key, ty) = (key(index), &param.ty);
    let span = at(ty.span());
    if flatten.is_some() {
        return quote_spanned!(span=> let #key = __spec.flatten::<#ty>(););
    }
    let description = description.iter();
    let header = header.iter();
    let info = quote!(__mcp::ArgInfo::new(#name) #(.description(#description))* #(.header(#header))*);
    match default {
        None => quote_spanned!(span=> let #key = __spec.arg::<#ty>(#info);),
        Some(default) => {
            let value = default_value(default);
            quote_spanned!(span=> let #key = __spec.arg_or::<#ty>(#info, #value);)
        }
    }
}

/// A function that makes the default, spanned at the expression: that is what may not fit.
fn default_value(default: &Default) -> TokenStream {
    match default {
        Default::Trait(span) => quote_spanned!(at(*span)=> || ::core::default::Default::default()),
        Default::Expr(expr) if crate::attr::is_string(expr) => {
            quote_spanned!(at(expr.span())=> || ::core::convert::From::from(#expr))
        }
        Default::Expr(expr) => quote_spanned!(at(expr.span())=> || #expr),
    }
}

/// The statement that says what completes an argument: a function, or under `Self::` a method.
fn completer(handler: &Handler, argument: &Argument) -> Option<TokenStream> {
    let path = argument.complete.as_ref()?;
    let name = &argument.name;
    let method = handler.receiver.is_some() && path.segments.first().is_some_and(|first| first.ident == "Self");
    let this = method.then(|| quote!(&__this,));
    let state = method.then(|| quote!(let __this = __mcp::Arc::clone(&__this);));
    let call = quote_spanned!(at(path.span())=> #path(#this &__typed));
    Some(quote! {
        __spec.complete(#name, {
            #state
            move |__typed| {
                #state
                async move {
                    #[allow(unused_imports)]
                    use __mcp::{Settled as _, Settling as _};
                    __mcp::Completed(#call).settle().await
                }
            }
        });
    })
}

/// A place in the user's code for tokens of ours: errors show there, names resolve here.
pub(crate) fn at(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}

fn key(index: usize) -> Ident {
    format_ident!("__arg{index}")
}

/// The statement that declares the return type, in the user's own tokens: that is what may not fit.
fn returns(handler: &Handler) -> TokenStream {
    let declare = format_ident!("{}_returns", handler.kind.attribute());
    let unnamed = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "impl");
    let ty = match &handler.output.0 {
        // Only the compiler knows which type that is.
        Some(ty) if quote!(#ty).into_iter().any(unnamed) => None,
        Some(ty) => Some(quote!(::<#ty>)),
        None => {
            let unit = quote_spanned!(at(handler.output.1)=> ());
            Some(quote!(::<#unit>))
        }
    };
    quote!(let __returns = __mcp::#declare #ty(&mut __spec);)
}

/// The call itself: sync, async or blocking. Spanned at the return type, where what may not fit is.
fn run(handler: &Handler, function: &TokenStream) -> TokenStream {
    let span = at(handler.output.1);
    let take = |index: usize| {
        let key = key(index);
        quote!(__args.take(&#key)?)
    };
    let this = handler.receiver.as_ref().map(|_| quote!(&__this));
    if handler.asyncness.is_none() && handler.options.blocking.is_none() {
        let values = handler.params.iter().enumerate().map(|(index, param)| match &param.source {
            Source::Caller(_) => take(index),
            Source::Server(ty) => provided(ty),
        });
        let values = this.into_iter().chain(values);
        let call = quote_spanned!(span=> #function(#(#values),*));
        let sync = quote_spanned!(span=> sync);
        return quote!(__spec.#sync(__returns, move |__args, __caller| ::core::result::Result::Ok(#call)));
    }
    let state = this.as_ref().map(|_| quote!(let __this = __mcp::Arc::clone(&__this);));
    let taken = handler.params.iter().enumerate().map(|(index, param)| {
        let value = value(index);
        let taken = match &param.source {
            Source::Caller(_) => take(index),
            Source::Server(ty) => {
                let span = at(ty.span());
                quote_spanned!(span=> __caller.provide::<#ty>())
            }
        };
        quote!(let #value = #taken;)
    });
    let passed = handler.params.iter().enumerate().map(|(index, param)| {
        let value = value(index);
        match &param.source {
            Source::Caller(_) => quote!(#value),
            Source::Server(_) => quote!(&#value),
        }
    });
    let passed = this.into_iter().chain(passed);
    let call = quote_spanned!(span=> #function(#(#passed),*));
    let (how, work) = match handler.asyncness {
        Some(_) => (quote_spanned!(span=> future), quote_spanned!(span=> async move { #call.await })),
        None => (quote_spanned!(span=> blocking), quote_spanned!(span=> move || #call)),
    };
    quote! {
        __spec.#how(__returns, move |__args, __caller| {
            #state
            #(#taken)*
            ::core::result::Result::Ok(#work)
        })
    }
}

fn provided(ty: &syn::Type) -> TokenStream {
    let span = at(ty.span());
    quote_spanned!(span=> &__caller.provide::<#ty>())
}

fn value(index: usize) -> Ident {
    format_ident!("__value{index}")
}
