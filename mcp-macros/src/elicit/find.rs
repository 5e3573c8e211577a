//! Finds the types a body asks for: `ctx.elicit::<T>(…)`, `let answer: T = ctx.elicit(…).await?`, and
//! `let T { … } = ctx.elicit(…).await?`.
//!
//! Walks the tokens of the body instead of parsing it: the body may be incomplete, and many questions are
//! inside macros, such as `join!`.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Ident, Pat, PatStruct, Token, Type, TypePath};

use super::Form;

/// The forms in a body, in order.
pub(super) fn forms(body: &TokenStream, context: &Ident) -> Vec<Form> {
    let mut found = Vec::new();
    walk(body, context, &mut found);
    found
}

fn walk(tokens: &TokenStream, context: &Ident, found: &mut Vec<Form>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let rest = &tokens[index + 1..];
        match token {
            TokenTree::Group(group) => walk(&group.stream(), context, found),
            TokenTree::Ident(word) if word == "let" => found.extend(declared(rest, context)),
            TokenTree::Ident(word) if word == context => {
                let of_another = index > 0 && is_punct(&tokens[index - 1], '.');
                found.extend(named(rest).filter(|_| !of_another));
            }
            _ => {}
        }
    }
}

/// The `T` of `.elicit::<T>(…)`, if `rest` begins with it.
fn named(rest: &[TokenTree]) -> Option<Form> {
    if !matches!(rest, [dot, TokenTree::Ident(elicit), ..] if is_punct(dot, '.') && elicit == "elicit") {
        return None;
    }
    let turbofish = |input: ParseStream<'_>| {
        input.parse::<Token![::]>()?;
        input.parse::<Token![<]>()?;
        let ty: Type = input.parse()?;
        input.parse::<Token![>]>()?;
        input.parse::<TokenStream>()?;
        Ok(Form { ty, is_pattern: false })
    };
    turbofish.parse2(stream(&statement(rest)[2..])).ok()
}

/// The type of a `let` whose value is exactly the answer to a question.
fn declared(rest: &[TokenTree], context: &Ident) -> Option<Form> {
    let statement = statement(rest);
    if !statement.iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "elicit")) {
        return None;
    }
    let binding = |input: ParseStream<'_>| {
        let pat = Pat::parse_single(input)?;
        let form = match input.parse::<Option<Token![:]>>()? {
            Some(_) => Some(Form { ty: input.parse()?, is_pattern: false }),
            None => destructured(pat),
        };
        input.parse::<Token![=]>()?;
        let answer: Expr = input.parse()?;
        let is_answer = matches!(answer, Expr::Try(_)) && is_answer(&answer, context);
        Ok(form.filter(|_| is_answer))
    };
    binding.parse2(stream(statement)).ok()?
}

/// The struct that a pattern destructures.
fn destructured(pat: Pat) -> Option<Form> {
    let Pat::Struct(PatStruct { qself, path, .. }) = pat else { return None };
    // `Shape::Round { … }` is a variant, not a type.
    let mut leading = path.segments.iter().rev().skip(1);
    let is_variant = leading.any(|segment| segment.ident.to_string().starts_with(char::is_uppercase));
    let ty = TypePath { attrs: Vec::new(), qself, path };
    (!is_variant).then_some(Form { ty: Type::Path(ty), is_pattern: true })
}

/// Whether an expression is `ctx.elicit(…).await?`, possibly with calls in between that keep its type.
fn is_answer(expr: &Expr, context: &Ident) -> bool {
    match expr {
        Expr::Try(expr) => is_answer(&expr.expr, context),
        Expr::Await(expr) => is_answer(&expr.base, context),
        Expr::MethodCall(call) if call.method == "elicit" => {
            matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident(context))
        }
        Expr::MethodCall(call) => {
            let same = ["key", "timeout", "map_err", "context", "with_context"];
            same.iter().any(|method| call.method == method) && is_answer(&call.receiver, context)
        }
        _ => false,
    }
}

/// The rest of the statement that `rest` begins in.
fn statement(rest: &[TokenTree]) -> &[TokenTree] {
    let end = rest.iter().position(|token| is_punct(token, ';')).unwrap_or(rest.len());
    &rest[..end]
}

pub(super) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn stream(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().cloned().collect()
}
