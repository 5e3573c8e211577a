//! `#[handlers] impl T`: collects the annotated methods, and implements the runtime's `Mounted` for `T`.
//!
//! A type has one block: the language allows one impl of a trait. rustc's error about the second names the trait, so
//! its exported name says what to do.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{
    Attribute, Expr, GenericArgument, Generics, Ident, ImplItem, ImplItemFn, ItemImpl, Lifetime, LitStr, Meta, Path,
    PathArguments, Type,
};

use crate::attr::condition::{self, Condition};
use crate::attr::limits::Limits;
use crate::attr::{self, Entries, layer, scopes};
use crate::describe::{describe, share_state};
use crate::errors::Errors;
use crate::function::{already, item_keyword};
use crate::handler::{Handler, Kind, private};
use crate::uri;

// Input
//     #[handlers]
//     impl Notebook {
//         #[tool]
//         fn search(&self, query: String) -> String { … }
//     }
// Output
//     impl Notebook {
//         fn search(&self, query: String) -> String { … }
//     }
//     const _: () = {
//         use ::mcp_runtime::__private as __mcp;
//         impl __mcp::MergeTheHandlersBlocks for Notebook {
//             fn handlers(__this: __mcp::Arc<Self>) -> __mcp::Handlers {
//                 let __handlers = __mcp::Handlers::new();
//                 let __handlers = __handlers.tool({ …, as for a function, calling Self::search });
//                 __handlers
//             }
//         }
//     };
/// Expands `#[handlers]`.
pub(crate) fn handlers(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => return not_an_impl(item, error),
    };
    let mut errors = Errors::default();
    let BlockOptions { krate, scopes, limits, layers } = options(attr, &mut errors);
    whole_block(&block, &mut errors);
    let mut found = collect(&mut block, &mut errors);
    for handler in &mut found {
        handler.options.scopes = scopes::union(&scopes, &handler.options.scopes);
        handler.options.limits.within(&limits);
    }
    let unseen = macro_calls(&mut block, &mut errors) || found.is_empty() && aliases(&mut block, &mut errors);
    if found.is_empty() && !unseen {
        errors.push_spanned(&block.self_ty, "nothing here has `#[tool]`, `#[prompt]` or `#[resource]`");
    }
    no_duplicates(&found, &mut errors);
    bare_names(&block, &found, &layers, &mut errors);

    let private = private(krate.as_ref());
    let self_ty = &block.self_ty;
    let error = errors.into_compile_error();
    let collected = match &error {
        None => {
            let registered = found.iter().map(register);
            let layers = layers.iter().map(|layer| layer::add(layer, true));
            let layered = quote!(#(let __handlers = __handlers.#layers;)*);
            quote! {
                let __handlers = __mcp::Handlers::new();
                #(#registered)*
                #layered
                __handlers
            }
        }
        Some(_) => quote!(::core::unreachable!()),
    };
    let generics = mountable(&block);
    let (generics, _, clause) = generics.split_for_impl();
    let output = quote! {
        const _: () = {
            use #private as __mcp;

            #[automatically_derived]
            impl #generics __mcp::MergeTheHandlersBlocks for #self_ty #clause {
                #[allow(unused_mut, unused_variables, deprecated, clippy::absolute_paths, clippy::redundant_closure)]
                fn handlers(__this: __mcp::Arc<Self>) -> __mcp::Handlers {
                    #collected
                }
            }
        };
    };
    quote!(#block #output #error)
}

fn not_an_impl(item: &TokenStream, error: syn::Error) -> TokenStream {
    let keyword = item_keyword(item);
    let error = match &keyword {
        // A malformed impl block: keep the parser's error.
        Some(word) if word == "impl" || word == "unsafe" => error,
        Some(word) => syn::Error::new(word.span(), "`#[handlers]` goes on an impl block"),
        None => error,
    }
    .into_compile_error();
    quote!(#item #error)
}

/// The keys of `#[handlers]`.
#[derive(Default)]
struct BlockOptions {
    krate: Option<syn::Path>,
    /// What the caller of any of its handlers must have.
    scopes: Vec<LitStr>,
    /// The rate of each handler that has none of its own.
    limits: Limits,
    /// The layers around all of its handlers, the outermost first.
    layers: Vec<Expr>,
}

fn options(attr: TokenStream, errors: &mut Errors) -> BlockOptions {
    let mut options = BlockOptions::default();
    let Some(all) = errors.handle(syn::parse2::<Entries>(attr)) else { return options };
    if let Some(literal) = all.positional {
        errors.push_spanned(literal, "`#[handlers]` takes no text; what it may need is `crate = path`");
    }
    let mut seen: Vec<Ident> = Vec::new();
    for entry in all.entries {
        let key = entry.key.clone();
        if seen.contains(&key) {
            errors.push_at(key.span(), format!("`{key}` is given twice"));
        } else if key == "crate" {
            options.krate = errors.handle(attr::path(entry));
        } else if key == "scopes" {
            options.scopes = errors.handle(scopes::scopes(entry)).unwrap_or_default();
        } else if key == "layer" {
            options.layers = errors.handle(layer::layers(entry)).unwrap_or_default();
        } else if key == "rate" || key == "burst" {
            errors.handle(options.limits.set(&key.to_string(), entry));
        } else {
            let there = "there are `crate`, `scopes`, `layer`, `rate` and `burst`";
            errors.push_at(key.span(), format!("unknown key `{key}`; {there}"));
        }
        seen.push(key);
    }
    if !seen.iter().any(|key| key == "rate") {
        options.limits.check(errors);
    }
    options
}

fn whole_block(block: &ItemImpl, errors: &mut Errors) {
    if let Some((path, _)) = &block.trait_ {
        errors
            .push_spanned(path, "`#[handlers]` collects a type's own methods: put it on an impl block without a trait");
    }
    let parameter = block.generics.lifetimes().next().map(|parameter| &parameter.lifetime);
    if let Some(lifetime) = parameter.or_else(|| borrowed(&block.self_ty)) {
        errors.push_spanned(
            lifetime,
            "what is mounted outlives every call: it cannot borrow; let it own, or share with `Arc`",
        );
    }
}

/// The block's generics for the generated impl. Calls share a value that outlives them; a concrete type is checked by
/// the compiler, a generic one only when a value is mounted.
fn mountable(block: &ItemImpl) -> Generics {
    let mut generics = block.generics.clone();
    if !generics.params.is_empty() {
        let bound = syn::parse_quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static);
        generics.make_where_clause().predicates.push(bound);
    }
    generics
}

/// The first lifetime argument of a type that is not `'static`.
fn borrowed(ty: &Type) -> Option<&Lifetime> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) if lifetime.ident != "static" => Some(lifetime),
        _ => None,
    })
}

/// Removes the handler attributes from the methods and parses them.
fn collect(block: &mut ItemImpl, errors: &mut Errors) -> Vec<Handler> {
    let methods = block.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    });
    methods.flat_map(|method| read(method, errors)).collect()
}

/// The handlers of one method: none, one, or one for each combination of the conditions of its `cfg_attr`s.
fn read(method: &mut ImplItemFn, errors: &mut Errors) -> Vec<Handler> {
    let is_ours = |attr: &Attribute| Kind::of(attr).is_some();
    let conditions = condition::predicates(&method.attrs, is_ours);
    let conditions: Vec<_> = conditions.into_iter().map(|predicate| Condition::new(predicate, true)).collect();
    condition::resolve(&mut method.attrs, &conditions, is_ours);
    let mut ours: Vec<(Kind, Attribute)> = Vec::new();
    method.attrs.retain(|attr| match Kind::of(attr) {
        Some(kind) => {
            ours.push((kind, attr.clone()));
            false
        }
        None => true,
    });
    let mut ours = ours.into_iter();
    let Some((kind, attr)) = ours.next() else { return Vec::new() };
    for (other, second) in ours {
        errors.push_spanned(second, already(kind, other));
    }
    let tokens = match attr.meta {
        Meta::List(list) => list.tokens,
        Meta::Path(_) => TokenStream::new(),
        Meta::NameValue(pair) => {
            errors.push_spanned(pair, format!("expected `#[{0}]` or `#[{0}(…)]`", kind.attribute()));
            TokenStream::new()
        }
    };
    let at = (&method.block as &dyn ToTokens, true);
    let handlers = Handler::variants(kind, &tokens, &method.attrs, &mut method.sig, at, &conditions, errors);
    // Arguments are taken by value because they come from the caller, not because they are consumed.
    method.attrs.push(syn::parse_quote!(#[allow(clippy::needless_pass_by_value)]));
    handlers
}

/// Reports `complete = titles`, `visible_if = is_admin` and `layer = audited` for methods of the block, which are named `Self::titles`.
/// Handlers are left out: one may well have the name of the function that completes its argument.
fn bare_names(block: &ItemImpl, found: &[Handler], layers: &[Expr], errors: &mut Errors) {
    let is_method = |name: &Ident| {
        let mut methods = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(method) => Some(&method.sig.ident),
            _ => None,
        });
        methods.any(|method| method == name) && !found.iter().any(|handler| handler.ident == *name)
    };
    let report = |names: &mut dyn Iterator<Item = &Path>, errors: &mut Errors| {
        for name in names.filter_map(|path| path.get_ident()).filter(|name| is_method(name)) {
            errors.push_at(name.span(), format!("`{name}` is a method of this block: write `Self::{name}`"));
        }
    };
    report(&mut layers.iter().filter_map(layer::path), errors);
    for handler in found {
        let completers = handler.arguments().filter_map(|argument| argument.complete.as_ref());
        let predicate = handler.options.visible_if.as_ref().and_then(|predicate| match predicate {
            Expr::Path(path) => Some(&path.path),
            _ => None,
        });
        let layers = handler.options.layers.iter().filter_map(layer::path);
        report(&mut completers.chain(predicate).chain(layers), errors);
    }
}

/// Removes and reports macro calls: the handlers they make would be reported one by one, at their definition.
fn macro_calls(block: &mut ItemImpl, errors: &mut Errors) -> bool {
    let before = block.items.len();
    block.items.retain(|item| {
        let ImplItem::Macro(call) = item else { return true };
        errors.push_spanned(
            &call.mac.path,
            "`#[handlers]` cannot see what a macro makes: write handlers out; other items go in an impl block of their own",
        );
        false
    });
    block.items.len() < before
}

/// Removes and reports what looks like our attributes under other names: `use mcp_runtime::tool as mcp_tool`. Only
/// rustc knows what a name stands for, and not yet.
fn aliases(block: &mut ItemImpl, errors: &mut Errors) -> bool {
    let mut found = false;
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        method.attrs.retain(|attr| {
            let Some(last) = attr.path().segments.last() else { return true };
            let name = last.ident.to_string();
            let kinds = [Kind::Tool, Kind::Prompt, Kind::Resource].map(Kind::attribute);
            let Some(kind) = kinds.into_iter().find(|kind| name.ends_with(&format!("_{kind}"))) else { return true };
            errors.push_spanned(
                attr.path(),
                format!("write `{kind}` or `mcp_runtime::{kind}`: `#[handlers]` finds its methods by this name"),
            );
            found = true;
            false
        });
    }
    found
}

fn no_duplicates(handlers: &[Handler], errors: &mut Errors) {
    for (index, handler) in handlers.iter().enumerate() {
        // Two handlers may exclude each other by `cfg`.
        let is_always_there = |handler: &Handler| handler.cfgs.is_empty() && handler.conditions.is_empty();
        if !is_always_there(handler) {
            continue;
        }
        let (wire, span) = identity(handler);
        let earlier = handlers[..index]
            .iter()
            .find(|other| other.kind == handler.kind && is_always_there(other) && identity(other).0 == wire);
        if let Some(earlier) = earlier {
            let what = handler.kind.attribute();
            let message = match &handler.options.uri {
                Some(_) => format!("these URIs are those of the {what} `{}` already", earlier.ident),
                None => format!("`{wire}` is the {what} `{}` already", earlier.ident),
            };
            errors.push_at(span, message);
        }
    }
}

/// The key that must be unique: the name, or the URI without the names of its variables.
fn identity(handler: &Handler) -> (String, proc_macro2::Span) {
    match &handler.options.uri {
        Some(uri) => (uri::shape(&uri.value()), uri.span()),
        None => handler.name(),
    }
}

fn register(handler: &Handler) -> TokenStream {
    let add = format_ident!("{}", handler.kind.attribute());
    let (ident, cfgs, conditions) = (&handler.ident, &handler.cfgs, &handler.conditions);
    if let Some(error) = &handler.error {
        return quote! {
            #(#cfgs)*
            #(#conditions)*
            let __handlers = { #error __handlers };
        };
    }
    let described = describe(handler, &quote!(Self::#ident), true);
    let state = handler.receiver.as_ref().map(|_| share_state());
    quote! {
        #(#cfgs)*
        #(#conditions)*
        let __handlers = __handlers.#add({
            #state
            #described
        });
    }
}
