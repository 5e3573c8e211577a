//! Turns doc comments into descriptions. Paragraphs are kept; other attributes in between are ignored.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, Lit, Meta};

/// The text of the doc comments among `attrs` as an expression of type `&'static str`.
pub(crate) fn description(attrs: &[Attribute]) -> Option<TokenStream> {
    let lines: Vec<Line> = attrs.iter().filter_map(Line::of).collect();
    if lines.iter().all(|line| matches!(line, Line::Text(_))) {
        let text = lines.iter().map(|line| if let Line::Text(text) = line { &**text } else { "" });
        let text = text.collect::<Vec<_>>().join("\n");
        let text = text.trim();
        return (!text.is_empty()).then(|| text.to_token_stream());
    }
    // `#[doc = include_str!("…")]`: only the compiler knows the text.
    let pieces = lines.into_iter().map(|line| match line {
        Line::Text(text) => format!("{text}\n").to_token_stream(),
        Line::Expression(expression) => quote!(#expression, "\n"),
    });
    Some(quote!(::core::concat!(#(#pieces),*).trim_ascii()))
}

enum Line {
    Text(String),
    Expression(Box<Expr>),
}

impl Line {
    fn of(attr: &Attribute) -> Option<Line> {
        let Meta::NameValue(meta) = &attr.meta else { return None };
        if !meta.path.is_ident("doc") {
            return None;
        }
        match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(Line::Text(plain(&text.value()))),
                _ => None,
            },
            other => Some(Line::Expression(Box::new(other.clone()))),
        }
    }
}

/// A comment's text without decoration: the space after `///`, the ` * ` of a block comment.
fn plain(comment: &str) -> String {
    if !comment.contains('\n') {
        return comment.strip_prefix(' ').unwrap_or(comment).trim_end().to_owned();
    }
    let starred = comment.lines().skip(1).all(|line| line.trim().is_empty() || line.trim_start().starts_with('*'));
    let strip = |line: &str| {
        let line = line.trim_end();
        let line = if starred { line.trim_start().strip_prefix('*').unwrap_or(line) } else { line };
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    };
    comment.lines().map(strip).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(attrs: &[Attribute]) -> String {
        description(attrs).map(|tokens| tokens.to_string()).unwrap_or_default()
    }

    #[test]
    fn paragraphs_survive_and_other_attributes_do_not_matter() {
        let attrs: Vec<Attribute> = vec![
            syn::parse_quote!(#[doc = " First."]),
            syn::parse_quote!(#[doc = ""]),
            syn::parse_quote!(#[allow(dead_code)]),
            syn::parse_quote!(#[doc = "   indented"]),
        ];
        assert_eq!(text(&attrs), "\"First.\\n\\n  indented\"");
    }

    #[test]
    fn block_comments_lose_their_stars() {
        let attrs: Vec<Attribute> = vec![syn::parse_quote!(#[doc = " First.\n *\n * Second.\n "])];
        assert_eq!(text(&attrs), "\"First.\\n\\nSecond.\"");
    }
}
