//! The keys of `#[arg(…)]` that narrow a value: `min`, `pattern`, `one_of` and others, each a JSON Schema keyword.
//!
//! A literal is checked where it is parsed; `fit` checks it against the rest of the argument. The runtime checks every
//! value again when the handler is registered, because the value of an expression is known only then.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Ident};

use super::literal::{self, Known, Number};
use crate::attr::{self, Entry};
use crate::name::closest;

/// A key, the JSON Schema keyword it sets, and the kind of value it is for.
pub(super) struct Keyword {
    pub(super) key: &'static str,
    json: &'static str,
    pub(super) of: Of,
}

/// The kind of value a keyword is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Numbers,
    Text,
    Lists,
    Any,
}

const KEYWORDS: [Keyword; 13] = [
    Keyword { key: "min", json: "minimum", of: Of::Numbers },
    Keyword { key: "max", json: "maximum", of: Of::Numbers },
    Keyword { key: "exclusive_min", json: "exclusiveMinimum", of: Of::Numbers },
    Keyword { key: "exclusive_max", json: "exclusiveMaximum", of: Of::Numbers },
    Keyword { key: "multiple_of", json: "multipleOf", of: Of::Numbers },
    Keyword { key: "min_length", json: "minLength", of: Of::Text },
    Keyword { key: "max_length", json: "maxLength", of: Of::Text },
    Keyword { key: "pattern", json: "pattern", of: Of::Text },
    Keyword { key: "format", json: "format", of: Of::Text },
    Keyword { key: "min_items", json: "minItems", of: Of::Lists },
    Keyword { key: "max_items", json: "maxItems", of: Of::Lists },
    Keyword { key: "unique_items", json: "uniqueItems", of: Of::Lists },
    Keyword { key: "one_of", json: "enum", of: Of::Any },
];

/// The formats the runtime checks.
const FORMATS: [&str; 13] = [
    "date",
    "time",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uuid",
    "regex",
    "json-pointer",
];

/// The names other libraries give to these keys.
const ALIASES: [(&str, &str); 14] = [
    ("minimum", "min"),
    ("maximum", "max"),
    ("ge", "min"),
    ("le", "max"),
    ("gt", "exclusive_min"),
    ("lt", "exclusive_max"),
    ("range", "min"),
    ("step", "multiple_of"),
    ("length", "min_length"),
    ("len", "min_length"),
    ("regex", "pattern"),
    ("enum", "one_of"),
    ("choices", "one_of"),
    ("unique", "unique_items"),
];

pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|keyword| keyword.key)
}

/// The key that is meant by a name of another library.
pub(super) fn alias(key: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(alias, _)| *alias == key).map(|(_, key)| *key)
}

/// One key with its value.
pub(crate) struct Constraint {
    pub(super) keyword: &'static Keyword,
    pub(super) key: Ident,
    pub(super) value: Value,
}

/// The value of a key.
pub(super) enum Value {
    One(Expr, Option<Known>),
    /// The elements of `one_of`.
    List(Vec<(Expr, Option<Known>)>),
    Flag,
}

impl Constraint {
    /// Parses a key that narrows; `Ok(None)` for `unique_items = false`.
    pub(super) fn read(key: &str, entry: Entry) -> syn::Result<Option<Self>> {
        let keyword = KEYWORDS.iter().find(|keyword| keyword.key == key).expect("one of the keys");
        let ident = entry.key.clone();
        let value = match key {
            "unique_items" => {
                if !attr::flag(entry)? {
                    return Ok(None);
                }
                Value::Flag
            }
            "one_of" => one_of(entry)?,
            "pattern" | "format" => {
                let form = format!("expected a string: `{key} = \"…\"`");
                let expr = attr::expression(entry, &form)?;
                let known = known(&expr, &form)?;
                match &known {
                    Some(Known::Text(text)) if key == "pattern" => pattern(&expr, text)?,
                    Some(Known::Text(text)) => format(&expr, text)?,
                    Some(_) => return Err(syn::Error::new_spanned(expr, form)),
                    None => {}
                }
                Value::One(expr, known)
            }
            _ => number(key, keyword.of, entry)?,
        };
        Ok(Some(Constraint { keyword, key: ident, value }))
    }

    /// The JSON Schema keyword, and the tokens of its value.
    pub(crate) fn tokens(&self) -> (&'static str, TokenStream) {
        // Literals that have no tokens were rejected when they were parsed.
        let tokens = |expr| literal::tokens(expr).unwrap_or_else(syn::Error::into_compile_error);
        let value = match &self.value {
            Value::One(expr, _) => tokens(expr),
            Value::List(elements) => {
                let elements = elements.iter().map(|(expr, _)| tokens(expr));
                quote!(__mcp::json!([#(#elements),*]))
            }
            Value::Flag => quote!(true),
        };
        (self.keyword.json, value)
    }
}

fn known(expr: &Expr, form: &str) -> syn::Result<Option<Known>> {
    Known::of(expr).map_err(|_| syn::Error::new_spanned(expr, form))
}

/// A bound, a length or a number of items.
fn number(key: &str, of: Of, entry: Entry) -> syn::Result<Value> {
    let form = match of {
        Of::Numbers => format!("expected a number: `{key} = 1`"),
        _ => format!("expected a whole number from 0: `{key} = 1`"),
    };
    let expr = attr::expression(entry, &form)?;
    let known = known(&expr, &form)?;
    let number = match &known {
        Some(Known::Number(number)) => number,
        Some(_) => return Err(syn::Error::new_spanned(expr, form)),
        None => return Ok(Value::One(expr, None)),
    };
    let is_count = matches!(number, Number::Int(int) if *int >= 0);
    if of != Of::Numbers && !is_count {
        return Err(syn::Error::new_spanned(expr, form));
    }
    if key == "multiple_of" && *number <= Number::Int(0) {
        return Err(syn::Error::new_spanned(expr, "expected a number above 0: `multiple_of = 5`"));
    }
    literal::tokens(&expr)?;
    Ok(Value::One(expr, known))
}

/// One or several values in brackets, or an expression for all of them.
fn one_of(entry: Entry) -> syn::Result<Value> {
    let form = "expected the allowed values: `one_of = [\"asc\", \"desc\"]`";
    let array = match attr::expression(entry, form)? {
        Expr::Array(array) => array,
        expr => {
            return match known(&expr, form)? {
                Some(_) => Err(syn::Error::new_spanned(expr, form)),
                None => Ok(Value::One(expr, None)),
            };
        }
    };
    if array.elems.is_empty() {
        return Err(syn::Error::new_spanned(array, "no value would be allowed: name one or several"));
    }
    let mut elements: Vec<(Expr, Option<Known>)> = Vec::new();
    for expr in array.elems {
        let known = Known::of(&expr)?;
        if known.is_some() && elements.iter().any(|(_, other)| *other == known) {
            return Err(syn::Error::new_spanned(expr, "this value is there twice"));
        }
        literal::tokens(&expr)?;
        elements.push((expr, known));
    }
    Ok(Value::List(elements))
}

fn pattern(expr: &Expr, text: &str) -> syn::Result<()> {
    let Err(error) = regex_lite::Regex::new(text) else { return Ok(()) };
    let why = error.to_string();
    let message = if why.contains("look-around") || why.contains("backreference") {
        format!("{why}: matching must take linear time; check the value in the function instead")
    } else {
        format!("this is not a valid regular expression: {why}")
    };
    Err(syn::Error::new_spanned(expr, message))
}

fn format(expr: &Expr, text: &str) -> syn::Result<()> {
    if FORMATS.contains(&text) {
        return Ok(());
    }
    let meant = closest(text, FORMATS).map(|meant| format!("did you mean `{meant}`? "));
    let message = format!("unknown format `{text}`; {}{}", meant.unwrap_or_default(), attr::list(&FORMATS));
    Err(syn::Error::new_spanned(expr, message))
}
