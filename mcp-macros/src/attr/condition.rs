//! `#[cfg_attr(predicate, …)]` around our attributes. Inside an item that a macro gets, rustc has not expanded it yet,
//! and only rustc knows whether the predicate holds. So our attributes are taken out, and the generated code gets a
//! `#[cfg(predicate)]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::Parser as _;
use syn::{Attribute, Meta};

/// Whether a predicate holds.
#[derive(Clone)]
pub(crate) struct Condition {
    predicate: TokenStream,
    holds: bool,
}

impl Condition {
    pub(crate) fn new(predicate: TokenStream, holds: bool) -> Self {
        Condition { predicate, holds }
    }

    /// The attribute for code that is compiled under this condition.
    pub(crate) fn cfg(&self) -> Attribute {
        let predicate = &self.predicate;
        if self.holds { syn::parse_quote!(#[cfg(#predicate)]) } else { syn::parse_quote!(#[cfg(not(#predicate))]) }
    }

    fn is_about(&self, predicate: &TokenStream) -> bool {
        self.predicate.to_string() == predicate.to_string()
    }
}

/// A `cfg_attr` that contains attributes of ours.
struct Conditional {
    predicate: TokenStream,
    ours: Vec<Attribute>,
    others: Vec<TokenStream>,
}

impl Conditional {
    fn of(attr: &Attribute, is_ours: impl Fn(&Attribute) -> bool) -> Option<Self> {
        let Meta::List(list) = &attr.meta else { return None };
        if !attr.path().is_ident("cfg_attr") {
            return None;
        }
        let mut parts = split(&list.tokens).into_iter();
        let mut conditional = Conditional { predicate: parts.next()?, ours: Vec::new(), others: Vec::new() };
        for part in parts {
            match Attribute::parse_outer.parse2(quote!(#[#part])).ok().and_then(|mut attrs| attrs.pop()) {
                Some(attr) if is_ours(&attr) => conditional.ours.push(attr),
                _ => conditional.others.push(part),
            }
        }
        (!conditional.ours.is_empty()).then_some(conditional)
    }

    /// The rest of the `cfg_attr`, without our attributes.
    fn rest(&self) -> Option<Attribute> {
        let (predicate, others) = (&self.predicate, &self.others);
        (!others.is_empty()).then(|| syn::parse_quote!(#[cfg_attr(#predicate, #(#others),*)]))
    }
}

/// Splits at the commas.
fn split(tokens: &TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens.clone() {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(TokenStream::new()),
            _ => parts.last_mut().expect("begins with one").extend([token]),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The predicates that our attributes among `attrs` depend on.
pub(crate) fn predicates(attrs: &[Attribute], is_ours: impl Fn(&Attribute) -> bool) -> Vec<TokenStream> {
    attrs.iter().filter_map(|attr| Conditional::of(attr, &is_ours)).map(|found| found.predicate).collect()
}

/// Replaces each `cfg_attr` with attributes of ours: by these if its predicate holds under `conditions`, and by the
/// rest of it in any case.
pub(crate) fn resolve(attrs: &mut Vec<Attribute>, conditions: &[Condition], is_ours: impl Fn(&Attribute) -> bool) {
    let resolved = attrs.drain(..).flat_map(|attr| match Conditional::of(&attr, &is_ours) {
        None => vec![attr],
        Some(found) => {
            let holds = conditions.iter().any(|condition| condition.holds && condition.is_about(&found.predicate));
            let rest = found.rest();
            found.ours.into_iter().filter(|_| holds).chain(rest).collect()
        }
    });
    *attrs = resolved.collect();
}

/// Every combination of the `predicates` that `known` does not decide, those that hold first.
pub(crate) fn combinations(predicates: Vec<TokenStream>, known: &[Condition]) -> Vec<Vec<Condition>> {
    let mut combinations = vec![known.to_vec()];
    for predicate in predicates {
        if combinations[0].iter().any(|condition| condition.is_about(&predicate)) {
            continue;
        }
        let both = |conditions: Vec<Condition>| {
            [true, false].map(|holds| {
                let more = Condition::new(predicate.clone(), holds);
                conditions.iter().cloned().chain([more]).collect()
            })
        };
        combinations = combinations.into_iter().flat_map(both).collect();
    }
    combinations
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;

    use super::*;

    fn is_arg(attr: &Attribute) -> bool {
        attr.path().is_ident("arg")
    }

    fn resolved(holds: bool) -> Vec<String> {
        let mut attrs: Vec<Attribute> = vec![
            syn::parse_quote!(#[cfg_attr(all(unix, feature = "x"), allow(unused), arg(min = 1, max = 2))]),
            syn::parse_quote!(#[cfg_attr(unix, allow(unused))]),
        ];
        let predicates = predicates(&attrs, is_arg);
        assert_eq!(predicates.len(), 1);
        let conditions = [Condition::new(predicates[0].clone(), holds)];
        resolve(&mut attrs, &conditions, is_arg);
        attrs.iter().map(|attr| attr.to_token_stream().to_string().replace(' ', "")).collect()
    }

    #[test]
    fn our_attributes_are_taken_out_and_the_rest_stays() {
        let rest = ["#[cfg_attr(all(unix,feature=\"x\"),allow(unused))]", "#[cfg_attr(unix,allow(unused))]"];
        assert_eq!(resolved(false), rest);
        assert_eq!(resolved(true), ["#[arg(min=1,max=2)]", rest[0], rest[1]]);
    }

    #[test]
    fn predicates_are_combined_once_each() {
        let [a, b]: [TokenStream; 2] = [quote!(unix), quote!(feature = "b")];
        let known = [Condition::new(a.clone(), true)];
        assert_eq!(combinations(vec![a.clone(), b.clone()], &known).len(), 2);
        assert_eq!(combinations(vec![a.clone(), b.clone(), a], &[]).len(), 4);
    }
}
