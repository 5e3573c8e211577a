//! Parsers for the values of keys. Every error shows the expected form.

use proc_macro2::TokenStream;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token};

use super::{Entry, Size, Value, ungrouped};
use crate::name::closest;

/// ``there are `a`, `b` and `c` ``
pub(crate) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("there are {} and {last}", rest.join(", ")),
        _ => format!("there is {}", quoted.concat()),
    }
}

pub(crate) fn string(entry: Entry) -> syn::Result<LitStr> {
    let form = format!("expected a string: `{} = \"…\"`", entry.key);
    literal_string(expression(entry, &form)?, &form)
}

fn literal_string(expr: Expr, form: &str) -> syn::Result<LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => Ok(literal),
        other => Err(syn::Error::new_spanned(other, form)),
    }
}

/// The name of a handler.
pub(crate) enum Name {
    Literal(LitStr),
    /// The path of a constant, whose value only the compiler knows.
    Constant(Path),
}

pub(super) fn name(entry: Entry) -> syn::Result<Name> {
    let form = format!("expected a string or a constant: `{0} = \"…\"` or `{0} = NAME`", entry.key);
    match expression(entry, &form)? {
        Expr::Path(expr) if expr.qself.is_none() => Ok(Name::Constant(expr.path)),
        expr => literal_string(expr, &form).map(Name::Literal),
    }
}

/// One word.
pub(super) fn ident(entry: Entry) -> syn::Result<Ident> {
    let form = format!("expected a name: `{} = search_tool`", entry.key);
    let expr = expression(entry, &form)?;
    match &expr {
        Expr::Path(path) => path.path.get_ident().cloned(),
        _ => None,
    }
    .ok_or_else(|| syn::Error::new_spanned(expr, form))
}

/// A string, or several in brackets.
pub(super) fn strings(entry: Entry) -> syn::Result<Vec<LitStr>> {
    let form = format!("expected a string or several: `{0} = \"…\"` or `{0} = [\"…\", \"…\"]`", entry.key);
    match expression(entry, &form)? {
        Expr::Array(array) => array.elems.into_iter().map(|expr| literal_string(ungrouped(expr), &form)).collect(),
        expr => Ok(vec![literal_string(expr, &form)?]),
    }
}

/// A flag: the bare key, `= true`, or `= false`.
pub(crate) fn flag(entry: Entry) -> syn::Result<bool> {
    let form = format!("expected a flag: `{0}` or `{0} = false`", entry.key);
    match entry.value {
        None => Ok(true),
        Some(Value::Expr(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }))) => Ok(value.value),
        Some(other) => Err(syn::Error::new_spanned(other, form)),
    }
}

pub(crate) fn expression(entry: Entry, form: &str) -> syn::Result<Expr> {
    match entry.value {
        Some(Value::Expr(expr)) => Ok(expr),
        Some(other) => Err(syn::Error::new_spanned(other, form)),
        None => Err(syn::Error::new(entry.key.span(), form)),
    }
}

pub(crate) fn path(entry: Entry) -> syn::Result<Path> {
    let form = format!("expected a path: `{} = some::path`", entry.key);
    match expression(entry, &form)? {
        Expr::Path(expr) if expr.qself.is_none() => Ok(expr.path),
        other => Err(syn::Error::new_spanned(other, form)),
    }
}

pub(super) fn json(entry: Entry) -> syn::Result<TokenStream> {
    let form = "expected a JSON object: `meta = { \"example.com/key\": \"value\" }`";
    match entry.value {
        Some(Value::Json(tokens)) => Ok(tokens),
        Some(other) => Err(syn::Error::new_spanned(other, form)),
        None => Err(syn::Error::new(entry.key.span(), form)),
    }
}

pub(super) fn audience(entry: Entry) -> syn::Result<Vec<LitStr>> {
    let audience = strings(entry)?;
    match audience.iter().find(|who| !matches!(&*who.value(), "user" | "assistant")) {
        Some(other) => Err(syn::Error::new(other.span(), "the audience is `\"user\"`, `\"assistant\"` or both")),
        None => Ok(audience),
    }
}

pub(super) fn priority(entry: Entry) -> syn::Result<f64> {
    let form = "expected a number from 0 to 1: `priority = 0.5`";
    let expr = expression(entry, form)?;
    let number: Option<f64> = match &expr {
        Expr::Lit(ExprLit { lit: Lit::Float(value), .. }) => value.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) => value.base10_parse().ok(),
        _ => None,
    };
    number.filter(|number| (0.0..=1.0).contains(number)).ok_or_else(|| syn::Error::new_spanned(expr, form))
}

pub(super) fn size(entry: Entry) -> syn::Result<Size> {
    let form = "expected a number of bytes, or nothing where it can be counted: `size = 1024` or `size`";
    match entry.value {
        None => Ok(Size::Counted),
        Some(Value::Expr(Expr::Lit(ExprLit { lit: Lit::Int(bytes), .. }))) => Ok(Size::Given(bytes.base10_parse()?)),
        Some(other) => Err(syn::Error::new_spanned(other, form)),
    }
}

/// A cache scope: whether the cache may be shared.
pub(super) fn scope(entry: Entry) -> syn::Result<bool> {
    let literal = string(entry)?;
    match &*literal.value() {
        "public" => Ok(true),
        "private" => Ok(false),
        _ => Err(syn::Error::new(literal.span(), "a cache is `\"public\"` or `\"private\"`")),
    }
}

/// The capabilities a handler can require, with the variants of the runtime's `ClientCapability`.
const CAPABILITIES: [(&str, &str); 5] = [
    ("elicitation", "Elicitation"),
    ("elicitation_url", "ElicitationUrl"),
    ("sampling", "Sampling"),
    ("sampling_tools", "SamplingTools"),
    ("roots", "Roots"),
];

pub(super) fn requires(entry: Entry) -> syn::Result<Vec<&'static str>> {
    let mut variants = Vec::new();
    let mut problems: Option<syn::Error> = None;
    for word in words(entry, "expected what the client must be able to do: `requires(elicitation)`")? {
        let problem = match capability(&word.unraw().to_string()) {
            Ok(variant) if variants.contains(&variant) => format!("`{word}` is given twice"),
            Ok(variant) => {
                variants.push(variant);
                continue;
            }
            Err(problem) => problem,
        };
        let problem = syn::Error::new(word.span(), problem);
        match &mut problems {
            Some(problems) => problems.combine(problem),
            none => *none = Some(problem),
        }
    }
    problems.map_or(Ok(variants), Err)
}

fn capability(word: &str) -> Result<&'static str, String> {
    if let Some((_, variant)) = CAPABILITIES.iter().find(|(known, _)| *known == word) {
        return Ok(variant);
    }
    let known = CAPABILITIES.map(|(known, _)| known);
    let meant = closest(word, known).map(|meant| format!("did you mean `{meant}`? "));
    Err(format!("unknown capability `{word}`; {}{}", meant.unwrap_or_default(), list(&known)))
}

/// One or more words in parentheses: `key(one, two)`.
fn words(entry: Entry, form: &str) -> syn::Result<Vec<Ident>> {
    let group = match entry.value {
        Some(Value::Words(group)) if !group.stream().is_empty() => group,
        Some(other) => return Err(syn::Error::new_spanned(other, form)),
        None => return Err(syn::Error::new(entry.key.span(), form)),
    };
    let words = |input: ParseStream<'_>| {
        let mut words = Vec::new();
        while !input.is_empty() {
            words.push(word(input).map_err(|error| syn::Error::new(error.span(), form))?);
        }
        Ok(words)
    };
    words.parse2(group.stream())
}

fn word(input: ParseStream<'_>) -> syn::Result<Ident> {
    let word = Ident::parse_any(input)?;
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(word)
}

/// The `task` key: whether calls must become tasks.
pub(super) fn task(entry: Entry) -> syn::Result<bool> {
    let form = "expected `task`, the same as `task = \"optional\"`, or `task = \"required\"`";
    if entry.value.is_none() {
        return Ok(false);
    }
    let literal = literal_string(expression(entry, form)?, form)?;
    match &*literal.value() {
        "optional" => Ok(false),
        "required" => Ok(true),
        _ => Err(syn::Error::new(literal.span(), form)),
    }
}

/// Milliseconds from `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
pub(super) fn duration(entry: Entry) -> syn::Result<u64> {
    let form = format!("expected a duration: `{} = \"30s\"`, `\"500ms\"`, `\"2m\"` or `\"1h\"`", entry.key);
    let literal = literal_string(expression(entry, &form)?, &form)?;
    let text = literal.value();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[digits..] {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = unit.and_then(|unit| text[..digits].parse::<u64>().ok()?.checked_mul(unit));
    millis.filter(|millis| *millis > 0).ok_or_else(|| syn::Error::new(literal.span(), form))
}

/// Whether an expression is a string literal.
pub(crate) fn is_string(expr: &Expr) -> bool {
    matches!(expr, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
}
