//! The grammar of attributes: `key`, `key = value` and `key(words)`, after an optional URI for resources.

pub(crate) mod condition;
pub(crate) mod layer;
pub(crate) mod limits;
mod options;
pub(crate) mod scopes;
mod value;

use proc_macro2::{Group, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, LitStr, Token};

pub(crate) use options::{Options, Size};
pub(crate) use value::{Name, expression, flag, is_string, list, path, string};

/// One `key`, `key = value` or `key(words)`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Option<Value>,
}

/// The value of a key.
pub(crate) enum Value {
    Expr(Expr),
    /// A JSON object in braces.
    Json(TokenStream),
    /// Words in parentheses, without a `=`; holds the parentheses, too.
    Words(Group),
}

impl ToTokens for Value {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Value::Expr(expr) => expr.to_tokens(tokens),
            Value::Json(json) => tokens.extend(quote!({ #json })),
            Value::Words(group) => group.to_tokens(tokens),
        }
    }
}

/// The content of an attribute: an optional leading literal, and the entries.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) positional: Option<LitStr>,
    pub(crate) entries: Vec<Entry>,
}

impl Parse for Entries {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut all = Entries::default();
        if input.peek(LitStr) {
            all.positional = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        while !input.is_empty() {
            all.entries.push(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(all)
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            return Err(input.error("expected a key; a URI stands first, any other text behind a key"));
        }
        let key = Ident::parse_any(input)?;
        if input.peek(syn::token::Paren) {
            return Ok(Entry { key, value: Some(Value::Words(input.parse()?)) });
        }
        let Some(equals) = input.parse::<Option<Token![=]>>()? else {
            if input.is_empty() || input.peek(Token![,]) {
                return Ok(Entry { key, value: None });
            }
            return Err(input.error(format!("expected `,`, or `=` and a value: `{key} = …`")));
        };
        if input.is_empty() {
            return Err(syn::Error::new(equals.span, format!("expected a value: `{key} = …`")));
        }
        let value = if key == "meta" && input.peek(syn::token::Brace) {
            Value::Json(input.parse::<Group>()?.stream())
        } else {
            Value::Expr(ungrouped(input.parse()?))
        };
        Ok(Entry { key, value: Some(value) })
    }
}

/// Unwraps the invisible group around a `$literal` of `macro_rules!`.
pub(crate) fn ungrouped(mut expr: Expr) -> Expr {
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    expr
}
