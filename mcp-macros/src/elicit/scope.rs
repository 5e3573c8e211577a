//! The names declared in a body: a type that is local to the body cannot be named outside.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Ident, Type};

use super::find::is_punct;

/// The names a body declares.
#[derive(Default)]
pub(super) struct Scope {
    /// Declared or imported names.
    names: Vec<String>,
    /// Whether `names` may be wrong: a macro or a glob import may declare more, a `cfg` less.
    unclear: bool,
    /// Whether the name of the context may be shadowed.
    pub(super) context_changes: bool,
}

impl Scope {
    pub(super) fn of(body: &TokenStream, context: &Ident) -> Self {
        let mut scope = Scope::default();
        scope.walk(body, context);
        scope
    }

    /// Whether a type has the same meaning outside the function.
    pub(super) fn can_be_named_outside(&self, ty: &Type) -> bool {
        let is_path = matches!(ty, Type::Path(_));
        is_path && !self.unclear && !any_word(&ty.to_token_stream(), &|word| self.is_of_body(word))
    }

    fn is_of_body(&self, word: &Ident) -> bool {
        word == "_" || word == "impl" || self.names.iter().any(|name| word == name)
    }

    fn walk(&mut self, tokens: &TokenStream, context: &Ident) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let rest = &tokens[index + 1..];
            match token {
                TokenTree::Group(group) => self.walk(&group.stream(), context),
                TokenTree::Ident(word) if word == context => {
                    let before = index.checked_sub(1).map(|before| &tokens[before]);
                    self.context_changes |= is_parameter(before, rest);
                }
                TokenTree::Ident(word) if word == "let" => self.context_changes |= binds(rest, context),
                TokenTree::Ident(word) => self.declare(word, rest),
                TokenTree::Punct(sign) if sign.as_char() == '#' => self.unclear |= is_condition(rest),
                _ => {}
            }
        }
    }

    /// Records the name that a keyword declares.
    fn declare(&mut self, keyword: &Ident, rest: &[TokenTree]) {
        match &*keyword.to_string() {
            "struct" | "enum" | "union" | "type" | "mod" => {
                if let Some(TokenTree::Ident(name)) = rest.first() {
                    self.names.push(name.to_string());
                }
            }
            "use" => {
                let import: TokenStream = rest.iter().take_while(|token| !is_punct(token, ';')).cloned().collect();
                self.import(&import);
            }
            "macro_rules" => self.unclear = true,
            _ => {}
        }
    }

    fn import(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(name) => self.names.push(name.to_string()),
                TokenTree::Group(group) => self.import(&group.stream()),
                TokenTree::Punct(sign) => self.unclear |= sign.as_char() == '*',
                TokenTree::Literal(_) => {}
            }
        }
    }
}

/// Whether a name is a parameter: of a closure, `|ctx|`, or of a function, `ctx: &Other`.
fn is_parameter(before: Option<&TokenTree>, rest: &[TokenTree]) -> bool {
    let typed = matches!(rest.first(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':' && colon.spacing() == Spacing::Alone);
    typed || before.is_some_and(|token| is_punct(token, '|'))
}

/// Whether a `let` binds `name` to another value; a clone of itself does not count.
fn binds(rest: &[TokenTree], name: &Ident) -> bool {
    let Some(equals) = rest.iter().position(|token| is_punct(token, '=')) else { return false };
    let pattern: TokenStream = rest[..equals].iter().cloned().collect();
    let is_clone = matches!(&rest[equals + 1..], [TokenTree::Ident(value), dot, TokenTree::Ident(clone), ..]
        if value == name && is_punct(dot, '.') && clone == "clone");
    !is_clone && any_word(&pattern, &|word| word == name)
}

/// Whether a `#` begins a `#[cfg(…)]`.
fn is_condition(rest: &[TokenTree]) -> bool {
    let Some(TokenTree::Group(attribute)) = rest.first() else { return false };
    matches!(attribute.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "cfg" || word == "cfg_attr")
}

fn any_word(tokens: &TokenStream, is: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => is(&word),
        TokenTree::Group(group) => any_word(&group.stream(), is),
        _ => false,
    })
}
