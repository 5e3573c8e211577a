//! The keys `rate`, `burst`, `max_concurrent` and `heartbeat`: how often a handler is called, how many calls of it run at
//! once, and how often a waiting client hears of a call.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Expr, ExprLit, Lit, LitInt};

use super::Entry;
use super::value::{duration, expression, string};
use crate::errors::Errors;
use crate::handler::Handler;

/// The keys.
pub(super) const KEYS: [&str; 4] = ["rate", "burst", "max_concurrent", "heartbeat"];

/// The limits of a handler, or those of a block.
#[derive(Default, Clone)]
pub(crate) struct Limits {
    rate: Option<Rate>,
    burst: Option<(Span, u32)>,
    max_concurrent: Option<(Span, usize)>,
    /// In milliseconds.
    heartbeat: Option<(Span, u64)>,
}

/// So many per period: a constructor of the runtime's `RateLimit`.
#[derive(Clone)]
struct Rate {
    count: u32,
    period: &'static str,
}

impl Limits {
    /// Sets one of the keys.
    pub(crate) fn set(&mut self, key: &str, entry: Entry) -> syn::Result<()> {
        let span = entry.key.span();
        match key {
            "rate" => self.rate = Some(rate(entry)?),
            "burst" => self.burst = Some((span, count(entry, "expected a number of calls at once: `burst = 20`")?)),
            "max_concurrent" => {
                let most = count(entry, "expected a number of calls that run at once: `max_concurrent = 4`")?;
                self.max_concurrent = Some((span, most));
            }
            _ => self.heartbeat = Some((span, heartbeat(entry)?)),
        }
        Ok(())
    }

    /// The limits of a handler in a block: its own, and the rate of the block if it has none.
    pub(crate) fn within(&mut self, block: &Limits) {
        if self.rate.is_none() {
            self.rate.clone_from(&block.rate);
            self.burst = self.burst.or(block.burst);
        }
    }

    /// Checks the keys of a block against each other.
    pub(crate) fn check(&self, errors: &mut Errors) {
        if let (Some((span, _)), None) = (self.burst, &self.rate) {
            errors.push_at(span, "a burst is above a rate: say which, `rate = \"10/s\"`");
        }
    }

    /// The statements that set them.
    pub(crate) fn statements(&self) -> TokenStream {
        let rate = self.rate.as_ref().map(|Rate { count, period }| {
            let period = format_ident!("per_{period}");
            let burst = self.burst.iter().map(|(_, burst)| burst);
            quote!(__builder.rate(__mcp::RateLimit::#period(#count) #(.burst(#burst))*);)
        });
        let most = self.max_concurrent.iter().map(|(_, most)| most);
        let millis = self.heartbeat.iter().map(|(_, millis)| millis);
        quote!(#rate #(__builder.max_concurrent(#most);)* #(__builder.heartbeat_ms(#millis);)*)
    }
}

/// What the keys demand of the function: one that waits.
pub(crate) fn check(handler: &Handler, errors: &mut Errors) {
    let limits = &handler.options.limits;
    if handler.options.broken {
        return;
    }
    limits.check(errors);
    if handler.asyncness.is_some() || handler.options.blocking.is_some() {
        return;
    }
    if let Some((span, _)) = limits.max_concurrent {
        errors.push_at(span, "a `fn` runs on the thread that has read the call, and cannot wait for its turn: make it an `async fn`, or add `blocking`");
    }
    if let Some((span, _)) = limits.heartbeat {
        errors.push_at(span, "a `fn` is over before a heartbeat is due: make it an `async fn`, or add `blocking`");
    }
}

/// `"10/s"`, `"600/min"`, `"1000/h"`
fn rate(entry: Entry) -> syn::Result<Rate> {
    const FORM: &str = "expected a rate: `rate = \"10/s\"`, `\"600/min\"` or `\"1000/h\"`";
    let is_text = matches!(&entry.value, Some(super::Value::Expr(Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))));
    if !is_text {
        return Err(match entry.value {
            Some(other) => syn::Error::new_spanned(other, FORM),
            None => syn::Error::new(entry.key.span(), FORM),
        });
    }
    let literal = string(entry)?;
    let text = literal.value();
    let wrong = |message: &str| syn::Error::new(literal.span(), message);
    let (count, period) = text.split_once('/').ok_or_else(|| wrong(FORM))?;
    let period = match period.trim() {
        "s" | "sec" | "second" => "second",
        "min" | "minute" => "minute",
        "h" | "hour" => "hour",
        "m" => return Err(wrong("`m` could be minutes or months: write `min`")),
        _ => return Err(wrong(FORM)),
    };
    match count.trim().parse() {
        Ok(0) => Err(wrong("a rate of 0 refuses every call: allow at least 1, or do not register the handler")),
        Ok(count) => Ok(Rate { count, period }),
        Err(_) => Err(wrong(FORM)),
    }
}

/// A number, at least 1.
fn count<N>(entry: Entry, form: &str) -> syn::Result<N>
where
    N: std::str::FromStr + PartialOrd + From<u8>,
    N::Err: std::fmt::Display,
{
    let expr = expression(entry, form)?;
    let number = |literal: &LitInt| literal.base10_parse::<N>().ok().filter(|number| *number >= N::from(1));
    match &expr {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => number(literal),
        _ => None,
    }
    .ok_or_else(|| syn::Error::new_spanned(expr, form))
}

fn heartbeat(entry: Entry) -> syn::Result<u64> {
    let value = match &entry.value {
        Some(super::Value::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let millis = duration(entry)?;
    match value {
        Some(value) if millis < 1000 => {
            Err(syn::Error::new_spanned(value, "a heartbeat is at least a second apart: `heartbeat = \"10s\"`"))
        }
        _ => Ok(millis),
    }
}
