//! Whether the constraints of an argument fit its type, each other and its default, as far as literals tell.

use syn::Expr;

use super::constraint::{Constraint, Keyword, Of, Value};
use super::literal::{Known, Number};
use super::spelling::{Shape, Spelling};
use crate::errors::Errors;

/// Checks the constraints of one argument, and reports the first problem of each.
pub(super) fn check(all: &[Constraint], spelling: Option<&Spelling>, default: Option<&Expr>, errors: &mut Errors) {
    let mut fits = true;
    for constraint in all {
        if let Some(error) = spelling.and_then(|spelling| misfit(constraint, spelling)) {
            errors.push(error);
            fits = false;
        }
    }
    if fits && !contradiction(all, errors) {
        default_fits(all, default, errors);
    }
}

/// The error for a key or a literal that does not fit the type.
fn misfit(constraint: &Constraint, spelling: &Spelling) -> Option<syn::Error> {
    let Constraint { keyword, key, value } = constraint;
    let of = match spelling.shape {
        Shape::Integer | Shape::Float => Of::Numbers,
        Shape::Text => Of::Text,
        Shape::List => Of::Lists,
        Shape::Bool => Of::Any,
    };
    if keyword.of != Of::Any && keyword.of != of {
        return Some(syn::Error::new(key.span(), other_kind(keyword, of, spelling)));
    }
    match value {
        Value::One(expr, Some(Known::Number(number))) if keyword.of == Of::Numbers => {
            let (least, most) = spelling.range()?;
            let name = &spelling.name;
            let problem = match keyword.key {
                "min" | "exclusive_min" if *number > Number::Int(most) => format!("no `{name}` is above {most}"),
                "max" | "exclusive_max" if *number < Number::Int(least) => format!("no `{name}` is below {least}"),
                _ => return None,
            };
            Some(syn::Error::new_spanned(expr, problem))
        }
        _ if keyword.of == Of::Any && spelling.shape == Shape::List => {
            let message = "`one_of` is for single values; give the elements of the list an enum type";
            Some(syn::Error::new(key.span(), message))
        }
        Value::List(elements) => {
            let other =
                |(_, known): &&(Expr, Option<Known>)| known.as_ref().is_some_and(|known| !is_a(known, spelling));
            let (expr, _) = elements.iter().find(other)?;
            let example = match of {
                Of::Numbers => "[1, 2]",
                Of::Text => "[\"a\", \"b\"]",
                Of::Lists | Of::Any => "[true]",
            };
            let message = format!("no `{}` has this value; expected `one_of = {example}`", spelling.name);
            Some(syn::Error::new_spanned(expr, message))
        }
        _ => None,
    }
}

/// Whether a literal can be a value of the type.
fn is_a(known: &Known, spelling: &Spelling) -> bool {
    match known {
        Known::Number(number) if spelling.shape == Shape::Integer => {
            let within = |(least, most)| *number >= Number::Int(least) && *number <= Number::Int(most);
            number.is_whole() && spelling.range().is_none_or(within)
        }
        Known::Number(_) => spelling.shape == Shape::Float,
        Known::Text(_) => spelling.shape == Shape::Text,
        Known::Bool(_) => spelling.shape == Shape::Bool,
    }
}

/// ``` `min` is for numbers; a `String` has `min_length` ```
fn other_kind(keyword: &Keyword, of: Of, spelling: &Spelling) -> String {
    let kinds = match keyword.of {
        Of::Numbers => "numbers",
        Of::Text => "text",
        Of::Lists | Of::Any => "lists",
    };
    let end = keyword.key.split('_').find(|word| matches!(*word, "min" | "max"));
    let (is, unit) = match of {
        Of::Numbers => ("a number", Some("")),
        Of::Text => ("text", Some("_length")),
        Of::Lists => ("a list", Some("_items")),
        Of::Any => ("true or false", None),
    };
    let instead = match (end, unit) {
        (Some(end), Some(unit)) => format!("has `{end}{unit}`"),
        _ => format!("is {is}"),
    };
    format!("`{}` is for {kinds}; {} {instead}", keyword.key, spelling.with_article())
}

/// The pairs of a lower and an upper bound.
const BOUNDS: [(&str, &str); 6] = [
    ("min", "max"),
    ("min", "exclusive_max"),
    ("exclusive_min", "max"),
    ("exclusive_min", "exclusive_max"),
    ("min_length", "max_length"),
    ("min_items", "max_items"),
];

/// Reports bounds that no value is between, at the second of them.
fn contradiction(all: &[Constraint], errors: &mut Errors) -> bool {
    let find = |key: &str| {
        let at = all.iter().position(|constraint| constraint.keyword.key == key)?;
        match &all[at].value {
            Value::One(expr, Some(Known::Number(number))) => Some((at, expr, *number)),
            _ => None,
        }
    };
    for (low, high) in BOUNDS {
        let (Some((low_at, low_expr, least)), Some((high_at, high_expr, most))) = (find(low), find(high)) else {
            continue;
        };
        let exclusive = low.starts_with("exclusive") || high.starts_with("exclusive");
        if least > most || exclusive && least == most {
            let second = if low_at > high_at { low_expr } else { high_expr };
            errors.push_spanned(second, format!("no value fits both `{low} = {least}` and `{high} = {most}`"));
            return true;
        }
    }
    false
}

/// Reports a literal default that the argument's own constraints reject.
fn default_fits(all: &[Constraint], default: Option<&Expr>, errors: &mut Errors) {
    let Some(expr) = default else { return };
    // Other literals are rejected by the compiler.
    let Ok(Some(default)) = Known::of(expr) else { return };
    if let Some(constraint) = all.iter().find(|constraint| !accepts(constraint, &default)) {
        let key = constraint.keyword.key;
        errors.push_spanned(expr, format!("the default breaks `{key}`: a call without the argument would be rejected"));
    }
}

fn accepts(constraint: &Constraint, value: &Known) -> bool {
    let limit = match &constraint.value {
        Value::List(elements) => {
            return elements.iter().any(|(_, known)| known.as_ref().is_none_or(|known| known == value));
        }
        Value::One(_, Some(limit)) => limit,
        Value::One(_, None) | Value::Flag => return true,
    };
    let length = |text: &str| Number::Int(i128::try_from(text.chars().count()).unwrap_or(i128::MAX));
    match (constraint.keyword.key, value, limit) {
        ("min", Known::Number(value), Known::Number(limit)) => value >= limit,
        ("max", Known::Number(value), Known::Number(limit)) => value <= limit,
        ("exclusive_min", Known::Number(value), Known::Number(limit)) => value > limit,
        ("exclusive_max", Known::Number(value), Known::Number(limit)) => value < limit,
        ("multiple_of", Known::Number(value), Known::Number(limit)) => value.is_multiple_of(*limit).unwrap_or(true),
        ("min_length", Known::Text(text), Known::Number(limit)) => length(text) >= *limit,
        ("max_length", Known::Text(text), Known::Number(limit)) => length(text) <= *limit,
        ("pattern", Known::Text(text), Known::Text(pattern)) => {
            regex_lite::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
        }
        // The runtime checks formats.
        _ => true,
    }
}
