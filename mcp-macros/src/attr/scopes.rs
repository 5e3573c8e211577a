//! The key `scopes("…")`: what a caller must have been granted.

use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{LitStr, Token};

use super::{Entry, Value};

const FORM: &str = "expected scopes in parentheses: `scopes(\"notes:write\")`";

/// The scopes of an attribute, each once.
pub(crate) fn scopes(entry: Entry) -> syn::Result<Vec<LitStr>> {
    let group = match entry.value {
        Some(Value::Words(group)) => group,
        Some(other) => return Err(syn::Error::new_spanned(other, FORM)),
        None => return Err(syn::Error::new(entry.key.span(), FORM)),
    };
    let literals = |input: ParseStream<'_>| Punctuated::<LitStr, Token![,]>::parse_terminated(input);
    let scopes = literals.parse2(group.stream()).map_err(|error| syn::Error::new(error.span(), FORM))?;
    if scopes.is_empty() {
        return Err(syn::Error::new(group.span(), FORM));
    }
    let mut problems: Option<syn::Error> = None;
    for (index, scope) in scopes.iter().enumerate() {
        let is_repeated = scopes.iter().take(index).any(|earlier| earlier.value() == scope.value());
        let Err(problem) =
            (if is_repeated { Err("this scope is given twice".to_owned()) } else { check(&scope.value()) })
        else {
            continue;
        };
        let problem = syn::Error::new(scope.span(), problem);
        match &mut problems {
            Some(problems) => problems.combine(problem),
            none => *none = Some(problem),
        }
    }
    problems.map_or_else(|| Ok(scopes.into_iter().collect()), Err)
}

/// The scopes of a block and those of one of its handlers.
pub(crate) fn union(block: &[LitStr], own: &[LitStr]) -> Vec<LitStr> {
    let more = own.iter().filter(|own| !block.iter().any(|scope| scope.value() == own.value()));
    block.iter().chain(more).cloned().collect()
}

/// The grammar of a scope, as the runtime has it.
/// <https://www.rfc-editor.org/rfc/rfc6749#section-3.3>
fn check(scope: &str) -> Result<(), String> {
    if scope.is_empty() {
        return Err("a scope has at least one character".to_owned());
    }
    let allowed = |c: char| matches!(c, '\x21' | '\x23'..='\x5b' | '\x5d'..='\x7e');
    match scope.chars().find(|c| !allowed(*c)) {
        Some(' ') => {
            let each: Vec<String> = scope.split_whitespace().map(|scope| format!("{scope:?}")).collect();
            Err(format!("a scope has no spaces; these are several: `scopes({})`", each.join(", ")))
        }
        Some(other) => {
            Err(format!("{other:?} cannot be in a scope; allowed are visible ASCII characters except `\"` and `\\`"))
        }
        None => Ok(()),
    }
}
