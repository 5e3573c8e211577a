//! The key `layer = …`: middleware around the calls of a handler.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Path};

use super::value::expression;
use super::{Entry, ungrouped};

const FORM: &str = "expected a layer or several, the outermost first: `layer = audited` or `layer = [audited, cached]`";

/// The layers of an attribute, the outermost first.
pub(crate) fn layers(entry: Entry) -> syn::Result<Vec<Expr>> {
    let layers = match expression(entry, FORM)? {
        Expr::Array(array) if array.elems.is_empty() => return Err(syn::Error::new_spanned(array, FORM)),
        Expr::Array(array) => array.elems.into_iter().map(ungrouped).collect(),
        layer => vec![layer],
    };
    match layers.iter().find(|layer| matches!(layer, Expr::Lit(_))) {
        Some(literal) => Err(syn::Error::new_spanned(literal, FORM)),
        None => Ok(layers),
    }
}

/// The name of a function, if the layer is no more than that.
pub(crate) fn path(layer: &Expr) -> Option<&Path> {
    if let Expr::Path(path) = layer { Some(&path.path) } else { None }
}

/// The call of a method `layer` with this layer. A path that begins with `Self::` is a method of a mounted value.
pub(crate) fn add(layer: &Expr, in_block: bool) -> TokenStream {
    // Spanned at the layer, so that type errors point at it.
    let method = quote_spanned!(layer.span()=> layer);
    let of_self = |path: &Path| in_block && path.segments.first().is_some_and(|first| first.ident == "Self");
    match path(layer).filter(|path| of_self(path)) {
        Some(path) => quote! {
            #method({
                let __this = ::core::clone::Clone::clone(&__this);
                move |__call: __mcp::Call, __next: __mcp::Next| {
                    let __this = ::core::clone::Clone::clone(&__this);
                    async move { #path(&__this, __call, __next).await }
                }
            })
        },
        None => quote!(#method(#layer)),
    }
}
