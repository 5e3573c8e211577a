//! The parameters of a handler. Parameters taken by value are the caller's arguments; parameters taken by
//! reference come from the server.

mod constraint;
mod fit;
mod literal;
pub(crate) mod spelling;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Ident, Lifetime, LitStr, Meta, Pat, PatType, Path, Type};

use crate::attr::{self, Entries};
use crate::doc;
use crate::errors::Errors;
use crate::name::closest;
use spelling::Spelling;

pub(crate) use constraint::Constraint;

/// A parameter other than `self`.
pub(crate) struct Param {
    pub(crate) ty: Type,
    pub(crate) source: Source,
}

/// Where a parameter's value comes from.
pub(crate) enum Source {
    /// A reference, such as `&Context`; holds the referenced type.
    Server(Box<Type>),
    Caller(Box<Argument>),
}

/// An argument that the caller sends.
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) description: Option<TokenStream>,
    pub(crate) default: Option<Default>,
    pub(crate) header: Option<LitStr>,
    /// What narrows its type.
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) complete: Option<Path>,
    pub(crate) flatten: Option<Span>,
    /// Whether `#[arg]` has more than one key.
    pub(crate) other_keys: bool,
}

/// The value of a missing argument.
pub(crate) enum Default {
    /// `Default::default()`
    Trait(Span),
    Expr(Expr),
}

/// The parsed `#[arg(…)]` attributes of a parameter.
#[derive(Default)]
struct ArgOptions {
    /// The keys so far, in all attributes of the argument.
    seen: Vec<String>,
    rename: Option<LitStr>,
    description: Option<LitStr>,
    default: Option<Default>,
    complete: Option<Path>,
    header: Option<LitStr>,
    flatten: Option<Span>,
    constraints: Vec<Constraint>,
}

/// The keys that do not narrow the value.
const OWN: [&str; 6] = ["rename", "description", "default", "complete", "header", "flatten"];

/// The keys of `#[arg(…)]`.
pub(crate) fn keys() -> Vec<&'static str> {
    OWN.into_iter().chain(constraint::keys()).collect()
}

impl Param {
    /// Parses a parameter, and removes `#[arg]` and doc attributes from it.
    pub(crate) fn read(param: &mut PatType, errors: &mut Errors) -> Option<Self> {
        let options = ArgOptions::take(&mut param.attrs, errors);
        let description = doc::description(&param.attrs);
        param.attrs.retain(|attr| !attr.path().is_ident("doc"));
        let ty = ungrouped((*param.ty).clone());
        if let Some(cfg) = param.attrs.iter().find(|attr| attr.path().is_ident("cfg")) {
            errors.push_spanned(cfg, "`#[cfg]` goes on the whole handler, not on one of its arguments");
            return None;
        }
        if let Type::Reference(reference) = &ty {
            let source = Source::Server(reference.elem.clone());
            if let Some((attr, _)) = options {
                errors.push_spanned(
                    attr,
                    "`#[arg]` describes what the caller sends; what is taken by reference comes from the server",
                );
            }
            return borrowable(reference, errors).then_some(Param { ty, source });
        }
        if let Some(ampersand) = inner_reference(&quote::quote!(#ty)) {
            errors.push_at(ampersand, "arguments are decoded from JSON and owned: write `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`");
            return None;
        }
        if let Some(lifetime) = lifetime(&quote::quote!(#ty)) {
            errors.push_spanned(
                lifetime,
                "arguments are decoded from JSON and own their data: take a type without a lifetime, with `String` for `&str`; if it has `Cow`s, write `'static`",
            );
            return None;
        }
        if let Type::ImplTrait(_) = &ty {
            errors.push_spanned(
                &ty,
                "a handler has one schema, so its arguments have one type: name it instead of `impl …`",
            );
            return None;
        }
        let options = options.map(|(_, options)| options).unwrap_or_default();
        let ident = match ident(&param.pat) {
            Some(ident) => ident,
            // Callers use the names of its fields.
            None if options.flatten.is_some() => Ident::new("_flattened", param.pat.span()),
            None => {
                errors.push_spanned(&param.pat, unnamed(&param.pat));
                return None;
            }
        };
        options.check(&ty, errors);
        let argument = options.argument(&ident, description);
        Some(Param { ty, source: Source::Caller(Box::new(argument)) })
    }
}

/// Unwraps the invisible group around a `$ty` of `macro_rules!`.
fn ungrouped(mut ty: Type) -> Type {
    while let Type::Group(group) = ty {
        ty = *group.elem;
    }
    ty
}

/// The first `&` inside a type.
fn inner_reference(ty: &TokenStream) -> Option<Span> {
    ty.clone().into_iter().find_map(|token| match token {
        TokenTree::Punct(punct) if punct.as_char() == '&' => Some(punct.span()),
        TokenTree::Group(group) => inner_reference(&group.stream()),
        _ => None,
    })
}

/// The first lifetime inside a type that is neither `'static` nor of a `Cow`, which owns what is decoded.
fn lifetime(ty: &TokenStream) -> Option<Lifetime> {
    let mut tokens = ty.clone().into_iter().peekable();
    let mut before = [String::new(), String::new()];
    while let Some(token) = tokens.next() {
        match (&token, tokens.peek()) {
            (TokenTree::Punct(punct), Some(TokenTree::Ident(word)))
                if punct.as_char() == '\'' && word != "static" && before != ["Cow", "<"] =>
            {
                return syn::parse2([token.clone(), TokenTree::Ident(word.clone())].into_iter().collect()).ok();
            }
            (TokenTree::Group(group), _) => {
                if let Some(found) = lifetime(&group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
        before = [std::mem::take(&mut before[1]), token.to_string()];
    }
    None
}

/// The name of a parameter, unless it is a pattern.
fn ident(pat: &Pat) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(pat.ident.clone()),
        _ => None,
    }
}

/// The error for a pattern in place of a name.
fn unnamed(pat: &Pat) -> &'static str {
    match pat {
        Pat::Struct(_) => {
            "give the argument a name; callers use it. With `#[arg(flatten)]`, the fields are the arguments instead"
        }
        _ => "give the argument a name; callers use it",
    }
}

fn borrowable(reference: &syn::TypeReference, errors: &mut Errors) -> bool {
    let owned = match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") => Some("String".to_owned()),
        Type::Slice(slice) => {
            let elem = &slice.elem;
            Some(format!("Vec<{}>", quote::quote!(#elem)))
        }
        _ => None,
    };
    if let Some(owned) = owned {
        errors.push_spanned(
            reference,
            format!(
                "arguments are decoded from JSON and owned: write `{owned}`; only `&self` and `&Context` are borrowed"
            ),
        );
        return false;
    }
    if let Some(mutable) = &reference.mutability {
        errors.push_at(mutable.span(), "calls run at the same time and share what they borrow: take `&Context`");
        return false;
    }
    true
}

impl ArgOptions {
    /// Removes `#[arg(…)]` from `attrs` and parses it.
    fn take(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Option<(Attribute, Self)> {
        let mut found: Option<(Attribute, Self)> = None;
        attrs.retain(|attr| {
            if !attr.path().is_ident("arg") {
                return true;
            }
            let (_, options) = found.get_or_insert_with(|| (attr.clone(), Self::default()));
            options.read(attr, errors);
            false
        });
        found
    }

    fn read(&mut self, attr: &Attribute, errors: &mut Errors) {
        let Meta::List(list) = &attr.meta else {
            return errors.push_spanned(attr, "expected `#[arg(…)]`, for example `#[arg(default = 10)]`");
        };
        let Some(all) = errors.handle(list.parse_args::<Entries>()) else { return };
        if let Some(literal) = all.positional {
            errors.push_spanned(&literal, format!("write `description = {}`", literal.token()));
        }
        for entry in all.entries {
            let key = entry.key.unraw().to_string();
            if !keys().contains(&&*key) {
                let meant = constraint::alias(&key).or_else(|| closest(&key, keys()));
                let hint = match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => attr::list(&keys()),
                };
                errors.push_at(entry.key.span(), format!("unknown key `{key}`; {hint}"));
            } else if self.seen.contains(&key) {
                errors.push_at(entry.key.span(), format!("`{key}` is given twice"));
            } else {
                let result = self.set(&key, entry);
                errors.handle(result);
            }
            self.seen.push(key);
        }
    }

    fn set(&mut self, key: &str, entry: attr::Entry) -> syn::Result<()> {
        match key {
            "rename" => self.rename = Some(attr::string(entry)?),
            "description" => self.description = Some(attr::string(entry)?),
            "complete" => self.complete = Some(attr::path(entry)?),
            "header" => self.header = Some(attr::string(entry)?),
            "flatten" => {
                let span = entry.key.span();
                self.flatten = attr::flag(entry)?.then_some(span);
            }
            "default" => {
                self.default = Some(match &entry.value {
                    None => Default::Trait(entry.key.span()),
                    Some(_) => Default::Expr(attr::expression(entry, "expected a value: `default = 10`")?),
                });
            }
            _ => self.constraints.extend(Constraint::read(key, entry)?),
        }
        Ok(())
    }

    /// Checks the constraints against the type and the default. A flattened struct has none.
    fn check(&self, ty: &Type, errors: &mut Errors) {
        let default = match &self.default {
            Some(Default::Expr(expr)) => Some(expr),
            Some(Default::Trait(_)) | None => None,
        };
        if self.flatten.is_none() {
            fit::check(&self.constraints, Spelling::of(ty).as_ref(), default, errors);
        }
    }

    fn argument(self, ident: &Ident, docs: Option<TokenStream>) -> Argument {
        let description = match self.description {
            Some(text) => Some(quote::quote!(#text)),
            None => docs,
        };
        let (name, span) = match self.rename {
            Some(literal) => (literal.value(), literal.span()),
            None => (ident.unraw().to_string(), ident.span()),
        };
        Argument {
            name,
            span,
            description,
            default: self.default,
            header: self.header,
            constraints: self.constraints,
            complete: self.complete,
            flatten: self.flatten,
            other_keys: self.seen.len() > 1,
        }
    }
}
