//! Literals in `#[arg(…)]`: numbers with their sign, and the tokens that pass them on.

use std::cmp::Ordering;
use std::fmt;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, ExprUnary, Lit, UnOp};

use crate::attr::ungrouped;

/// A literal, as far as it can be checked at compile time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    Number(Number),
    Text(String),
    Bool(bool),
}

impl Known {
    /// The literal that `expr` is; `Ok(None)` for an expression whose value only the compiler knows.
    pub(super) fn of(expr: &Expr) -> syn::Result<Option<Self>> {
        match ungrouped(expr.clone()) {
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match Known::of(&expr)? {
                Some(Known::Number(number)) => Ok(Some(Known::Number(number.negated()))),
                _ => Ok(None),
            },
            Expr::Lit(ExprLit { lit, .. }) => match lit {
                Lit::Int(int) => {
                    // `1f64` is an integer to the parser.
                    let number = match int.suffix() {
                        "f32" | "f64" => Number::Float(int.base10_parse()?),
                        _ => Number::Int(int.base10_parse()?),
                    };
                    Ok(Some(Known::Number(number)))
                }
                Lit::Float(float) => Ok(Some(Known::Number(Number::Float(float.base10_parse()?)))),
                Lit::Str(text) => Ok(Some(Known::Text(text.value()))),
                Lit::Char(letter) => Ok(Some(Known::Text(letter.value().to_string()))),
                Lit::Bool(value) => Ok(Some(Known::Bool(value.value()))),
                other => Err(syn::Error::new_spanned(other, "expected a string, a number or a boolean")),
            },
            _ => Ok(None),
        }
    }
}

/// A literal number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn negated(self) -> Self {
        match self {
            Number::Int(int) => Number::Int(-int),
            Number::Float(float) => Number::Float(-float),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "only compared with other floats")]
    fn float(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }

    pub(super) fn is_whole(self) -> bool {
        match self {
            Number::Int(_) => true,
            Number::Float(float) => float.fract() == 0.0,
        }
    }

    /// Whether it is a multiple of `step`; unknown if rounding could decide.
    pub(super) fn is_multiple_of(self, step: Number) -> Option<bool> {
        match (self, step) {
            (Number::Int(int), Number::Int(step)) if step != 0 => Some(int % step == 0),
            _ => None,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
            _ => self.float().partial_cmp(&other.float()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(int) => int.fmt(f),
            Number::Float(float) => float.fmt(f),
        }
    }
}

/// The tokens for a value. A literal integer gets a type: without one it would be an `i32`.
pub(super) fn tokens(expr: &Expr) -> syn::Result<TokenStream> {
    let Some(Known::Number(Number::Int(int))) = Known::of(expr)? else { return Ok(expr.to_token_stream()) };
    let mut literal = match (i64::try_from(int), u64::try_from(int)) {
        (Ok(int), _) => Literal::i64_suffixed(int),
        (_, Ok(int)) => Literal::u64_suffixed(int),
        _ => return Err(syn::Error::new_spanned(expr, "JSON numbers end here: it has to fit into 64 bits")),
    };
    literal.set_span(expr.span());
    Ok(quote!(#literal))
}
