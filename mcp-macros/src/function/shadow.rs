//! The type beside a function has its name, and hides a crate, module or type of that name. `item = …` gives it
//! another one; these checks say so where the macro can see the need.

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;

use crate::errors::Errors;
use crate::handler::{FnItem, Handler};

const PRIMITIVES: [&str; 19] = [
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f16", "f32", "f64", "f128",
];

/// Whether a name is that of a primitive type.
pub(super) fn is_primitive(name: &Ident) -> bool {
    PRIMITIVES.contains(&&*name.unraw().to_string())
}

/// Reports a type that hides what the function needs. Returns whether to generate the type at all.
pub(super) fn check(handler: &Handler, item: &mut FnItem, errors: &mut Errors) -> bool {
    if handler.receiver.is_some() {
        return true;
    }
    let kind = handler.kind.attribute();
    let listed = handler.options.item.as_ref().unwrap_or(&handler.ident);
    let other = format!("{}_{kind}", handler.ident.unraw());
    let way_out = format!("add `item = {other}`, and list `{kind}s![{other}]`");
    if is_primitive(listed) {
        errors.push_at(listed.span(), format!("a {kind} of this name would hide the type `{listed}`: {way_out}"));
        return false;
    }
    let name = listed.unraw().to_string();
    let in_signature = own_path(&name, &item.sig.to_token_stream());
    let Some(own) = in_signature.clone().or_else(|| own_path(&name, &item.body)) else { return true };
    errors.push_at(
        own.span(),
        format!("`{name}` is the {kind} here, not a module or crate: {way_out}; or write `::{name}::…` for a crate"),
    );
    // The path would be a second error.
    if in_signature.is_some() {
        item.sig.inputs.clear();
        item.sig.output = syn::parse_quote!(-> !);
    }
    item.body = quote!({ ::core::unreachable!() });
    item.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
    true
}

/// The first word of a path `name::…`.
fn own_path(name: &str, tokens: &TokenStream) -> Option<Ident> {
    let mut before = String::new();
    let mut tokens = tokens.clone().into_iter();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => {
                if let Some(found) = own_path(name, &group.stream()) {
                    return Some(found);
                }
            }
            // `crate::name::…` and `value.name::<…>()` are something else.
            TokenTree::Ident(word) if word.unraw() == name && before != ":" && before != "." && before != "fn" => {
                let mut rest = tokens.clone();
                // The two colons are joined; in `name: ::path` they are not.
                let colons = matches!(rest.next(), Some(TokenTree::Punct(first)) if first.as_char() == ':' && first.spacing() == Spacing::Joint);
                if colons && rest.nth(1).is_some_and(|next| next.to_string() != "<") {
                    return Some(word.clone());
                }
            }
            _ => {}
        }
        before = token.to_string();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_begin_with_the_name_are_found() {
        let found = |tokens: TokenStream| own_path("uuid", &tokens).is_some();
        assert!(found(quote!({ Ok(uuid::Uuid::nil()) })));
        assert!(found(quote!(-> Option<uuid::Uuid>)));
        assert!(found(quote!(println!("{}", r#uuid::nil()))));
        assert!(!found(quote!(::uuid::Uuid::nil())));
        assert!(!found(quote!(crate::uuid::nil())));
        assert!(!found(quote!(uuid(uuid: u8) { uuid })));
        assert!(!found(quote!(x.uuid::<u8>(), uuid::<u8>())));
        assert!(!found(quote!(
            struct S {
                uuid: ::std::string::String,
            }
        )));
    }
}
