//! `#[tool]`, `#[prompt]` and `#[resource]` on a function: emits the function, and a type that registers it.
//!
//! The function stays as it is; the type of the same name stands beside it. Its braces keep it out of the value
//! namespace, so one `use` imports both, and `tools![add]` is an ordinary array. `item = …` gives it another name.

pub(crate) mod list;
mod shadow;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Ident};

use crate::describe::describe_variants;
use crate::errors::Errors;
use crate::handler::{FnItem, Handler, Kind, private};

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
//                 let mut __builder = __mcp::tool("add");
//                 let __arg0 = __builder.arg::<i64>(__mcp::ArgInfo::new("a"));
//                 let __arg1 = __builder.arg::<i64>(__mcp::ArgInfo::new("b"));
//                 let __returns = __mcp::tool_returns::<i64>(&mut __builder);
//                 __builder.sync(__returns, move |__args, __invocation| {
//                     let __value0 = __args.take(&__arg0)?;
//                     let __value1 = __args.take(&__arg1)?;
//                     Ok(add(__value0, __value1))
//                 })
//             }
//         }
//     };
/// Expands `#[tool]`, `#[prompt]` or `#[resource]` on a function.
pub(crate) fn function(kind: Kind, attr: &TokenStream, tokens: &TokenStream) -> TokenStream {
    let mut item: FnItem = match syn::parse2(tokens.clone()) {
        Ok(item) => item,
        Err(_) => return not_a_function(kind, tokens),
    };
    let mut errors = Errors::default();
    second_attribute(kind, &mut item.attrs, &mut errors);
    let at = (&item.body as &dyn ToTokens, false);
    let variants = Handler::variants(kind, attr, &item.attrs, &mut item.sig, at, &[], &mut errors);
    let handler = &variants[0];
    let has_type = shadow::check(handler, &mut item, &mut errors);
    let private = private(handler.options.krate.as_ref());
    let error = errors.into_compile_error();
    let Registry { trait_fn, method, item: made } = registry(kind);
    let body = match &error {
        None => {
            let ident = &handler.ident;
            describe_variants(&variants, &quote!(#ident))
        }
        // A stand-in, so that `tools![name]` still resolves and adds no second error.
        Some(_) => quote!(::core::unreachable!()),
    };
    let (vis, cfgs) = (&item.vis, &handler.cfgs);
    // Spanned at the function's name, so that a name collision is reported there.
    let ident = handler.options.item.as_ref().unwrap_or(&handler.ident);
    let proxy = quote_spanned!(ident.span()=> #vis struct #ident {});
    let registration = quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(
            dead_code,
            non_camel_case_types,
            missing_debug_implementations,
            missing_copy_implementations,
            unreachable_pub,
            clippy::empty_structs_with_brackets,
            clippy::exhaustive_structs
        )]
        #proxy

        #(#cfgs)*
        const _: () = {
            use #private as __mcp;

            #[automatically_derived]
            impl __mcp::#trait_fn for #ident {
                #[allow(unused_mut, deprecated, clippy::absolute_paths, clippy::redundant_closure)]
                fn #method() -> __mcp::#made {
                    #body
                }
            }
        };
    };
    // None for a method without `#[handlers]`: an impl block cannot contain these items.
    let registration = (has_type && handler.receiver.is_none()).then_some(registration);
    // Arguments are taken by value because they come from the caller, not because they are consumed.
    quote!(#[allow(clippy::needless_pass_by_value)] #item #registration #error)
}

/// The runtime's names for a kind of handler.
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
            errors.push_spanned(attr, already(kind, other));
        }
        other.is_none()
    });
}

/// The error for a second attribute on one function.
pub(crate) fn already(kind: Kind, other: Kind) -> String {
    if other == kind {
        return format!("`#[{}]` is given twice", kind.attribute());
    }
    format!("this is a {} already; it cannot be a {}, too", kind.attribute(), other.attribute())
}
