//! Finds the forms a handler asks for with `ctx.elicit`, to check them early.
//!
//! A form that is found is checked by its spelling here, and by its schema when the handler is built. Any
//! other form is checked when the handler asks for it.

mod find;
mod scope;

use quote::ToTokens;
use syn::{FnArg, Ident, Pat, PathSegment, Signature, Type, TypePath};

use crate::errors::Errors;
use scope::Scope;

/// A form that a handler asks for.
pub(crate) struct Form {
    pub(crate) ty: Type,
    /// Whether it was found in a pattern, where a path may omit generic arguments.
    pub(crate) is_pattern: bool,
}

/// The forms `body` asks for that can be named outside of it. Reports types that cannot be forms.
pub(crate) fn read(sig: &Signature, body: &dyn ToTokens, errors: &mut Errors) -> Vec<Form> {
    let Some(context) = context(sig) else { return Vec::new() };
    let body = body.to_token_stream();
    let mut forms = find::forms(&body, context);
    if forms.is_empty() {
        return forms;
    }
    let scope = Scope::of(&body, context);
    if scope.context_changes {
        return Vec::new();
    }
    let mut seen = Vec::new();
    forms.retain(|Form { ty, .. }| {
        let spelling = ty.to_token_stream().to_string();
        let first = !seen.contains(&spelling);
        seen.push(spelling);
        first
    });
    forms.retain(|Form { ty, .. }| match no_form(ty) {
        Some(message) => {
            errors.push_spanned(ty, message);
            false
        }
        None => scope.can_be_named_outside(ty),
    });
    forms
}

/// The name of the function's `&Context` parameter.
fn context(sig: &Signature) -> Option<&Ident> {
    sig.inputs.iter().find_map(|input| match input {
        FnArg::Typed(param) => match (&*param.pat, &*param.ty) {
            (Pat::Ident(pat), Type::Reference(_)) => Some(&pat.ident),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

const ONE_VALUE: [&str; 18] = [
    "String", "str", "bool", "char", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize", "f32", "f64",
];
const MANY_VALUES: [&str; 8] =
    ["Vec", "VecDeque", "HashMap", "BTreeMap", "HashSet", "BTreeSet", "LinkedList", "BinaryHeap"];

/// Why a type cannot be a form, if its spelling shows it.
fn no_form(ty: &Type) -> Option<String> {
    let form = |field: &str| format!("a form is a struct with named fields: `struct Answer {{ {field} }}`");
    match ty {
        Type::Group(group) => no_form(&group.elem),
        Type::Paren(paren) => no_form(&paren.elem),
        Type::Reference(reference) => no_form(&reference.elem),
        Type::Tuple(_) | Type::Array(_) | Type::Slice(_) => Some(form("name: String")),
        Type::Path(path) => {
            let name = known(path)?.ident.to_string();
            match &*name {
                "Option" => Some(
                    "a form is never left out: ask for what is in the `Option`; whoever declines is an \
                     `Err(AskError::Declined)` to match on"
                        .to_owned(),
                ),
                "str" => Some(form("value: String")),
                name if ONE_VALUE.contains(&name) => Some(form(&format!("value: {name}"))),
                _ => Some(form("name: String")),
            }
        }
        _ => None,
    }
}

/// The last segment of a path to a type of the standard library, or to `serde_json::Value`.
fn known(TypePath { qself, path, .. }: &TypePath) -> Option<&PathSegment> {
    let (first, last) = (path.segments.first()?, path.segments.last()?);
    let name = last.ident.to_string();
    let here = path.segments.len() == 1;
    let known = match &*name {
        "Value" => !here && first.ident == "serde_json",
        name if ONE_VALUE.contains(&name) => last.arguments.is_none(),
        name => (name == "Option" || MANY_VALUES.contains(&name)) && !last.arguments.is_none(),
    };
    let standard = here || ["std", "core", "alloc", "serde_json"].iter().any(|root| first.ident == root);
    (qself.is_none() && known && standard).then_some(last)
}
