//! `tools![]`, `prompts![]` and `resources![]`: an array of the items that annotated functions register.
//!
//! A path through a module is imported before it is used, because an import takes whatever a name has: the function,
//! and the type beside it that `#[tool]` adds. Without the attribute the type is missing, and `__Item` is found one
//! block further out: a type that is no tool, with an error that says what to do. For `<text::count as ToolFn>`,
//! rustc would report "expected type, found function".
//!
//! A bare name is used as it is, with that error of rustc: importing `add` is ambiguous wherever another `add` is in
//! an outer scope, because the type comes from a macro. A test may well declare a tool that hides an item of its
//! module, or one with the name of a crate. The span of the name says that it comes from this macro, so rustc's error
//! adds the macro's name, `put_the_attribute_tool_on_the_function`: the one text of that error that can be chosen.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, Lit, Path, Token, bracketed};

use super::shadow::is_primitive;
use super::{Registry, registry};
use crate::errors::Errors;
use crate::handler::Kind;

// Input, from a `macro_rules!` of the runtime
//     $crate [add, text::count]
// Output
//     {
//         use $crate::__private::PlainFunction as __Item;
//         [
//             { type __Item = add; <__Item as $crate::__private::ListedTool>::tool() },
//             { use text::count as __Item; <__Item as $crate::__private::ListedTool>::tool() },
//         ]
//     }
/// Expands `tools![]`, `prompts![]` or `resources![]`.
pub(crate) fn list(kind: Kind, input: TokenStream) -> TokenStream {
    let parse = |input: ParseStream<'_>| {
        let krate = Ident::parse_any(input)?;
        let entries;
        bracketed!(entries in input);
        Ok(List { krate, kind }.expand(&entries))
    };
    parse.parse2(input).unwrap_or_else(syn::Error::into_compile_error)
}

/// A list to expand.
struct List {
    /// `$crate`: the runtime.
    krate: Ident,
    kind: Kind,
}

impl List {
    fn expand(&self, input: ParseStream<'_>) -> TokenStream {
        let mut errors = Errors::default();
        let mut items = Vec::new();
        while !input.is_empty() {
            match self.entry(input) {
                Ok((attrs, entry)) => {
                    let path = errors.handle(self.path(&entry));
                    // A stand-in, so that the array keeps its length and adds no second error.
                    let item = path.map_or_else(|| quote!(::core::unreachable!()), |path| self.item(&path));
                    items.push(quote!(#(#attrs)* #item));
                }
                // What follows is not what the user meant.
                Err(error) => {
                    errors.push(error);
                    let _skipped = input.parse::<TokenStream>();
                    break;
                }
            }
        }
        let krate = &self.krate;
        let array = quote!([#(#items),*]);
        let error = errors.into_compile_error();
        if error.is_none() && !items.is_empty() {
            return quote!({
                #[allow(unused_imports)]
                use #krate::__private::PlainFunction as __Item;
                #array
            });
        }
        // The type is written out: there may be no item to infer it from.
        let Registry { item, .. } = registry(self.kind);
        quote!({
            #error
            #[allow(unused_imports)]
            use #krate::__private::PlainFunction as __Item;
            #[allow(unreachable_code)]
            let __list: [#krate::#item; _] = #array;
            __list
        })
    }

    /// An entry up to its comma.
    fn entry(&self, input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Expr)> {
        let attrs = input.call(Attribute::parse_outer)?;
        if input.peek(Token![,]) {
            return Err(input.error("a comma too many"));
        }
        let entry = input.parse().map_err(|error: syn::Error| syn::Error::new(error.span(), self.expected()))?;
        if !input.is_empty() && input.parse::<Option<Token![,]>>()?.is_none() {
            return Err(input.error(format!("put a comma between the {}s", self.kind.attribute())));
        }
        Ok((attrs, entry))
    }

    /// The path of a function, if that is what the entry is.
    fn path(&self, entry: &Expr) -> syn::Result<Path> {
        let (list, attribute) = (self.name(), self.attribute());
        let wrong = |message: String| Err(syn::Error::new_spanned(entry, message));
        match entry {
            // From a `macro_rules!` of the user.
            Expr::Group(group) => self.path(&group.expr),
            Expr::Path(path) if path.qself.is_none() => self.function(&path.path),
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if owner(&path.path).is_some() => wrong(format!(
                    "`{list}` takes functions; the handlers of a value are added with `.mount({})`",
                    text(entry)
                )),
                Expr::Path(path) => wrong(format!("write `{}`: `{list}` does not call the function", text(&path.path))),
                _ => wrong(self.expected()),
            },
            Expr::Reference(reference) => wrong(format!("write `{}`, without `&`", text(&reference.expr))),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(name) if name.parse::<Path>().is_ok() => {
                    wrong(format!("write `{}`, without quotes", name.value()))
                }
                _ => wrong(self.expected()),
            },
            Expr::Closure(_) => wrong(format!("`{list}` takes functions: give this one a name, and `{attribute}`")),
            _ => wrong(self.expected()),
        }
    }

    /// Checks the path of a function.
    fn function(&self, path: &Path) -> syn::Result<Path> {
        let kind = self.kind.attribute();
        if let Some(arguments) = path.segments.iter().map(|segment| &segment.arguments).find(|args| !args.is_none()) {
            let mut plain = path.clone();
            for segment in &mut plain.segments {
                segment.arguments = syn::PathArguments::None;
            }
            let message = format!("write `{}`: a {kind} cannot be generic", text(&plain));
            return Err(syn::Error::new_spanned(arguments, message));
        }
        if let Some(primitive) = path.get_ident().filter(|name| is_primitive(name)) {
            let message =
                format!("`{primitive}` is a type of Rust: list the {kind} by its `item`, `{primitive}_{kind}`");
            return Err(syn::Error::new_spanned(path, message));
        }
        if let Some(owner) = owner(path) {
            let block =
                if owner == "Self" { "this impl block".to_owned() } else { format!("the impl block of `{owner}`") };
            let message = format!(
                "`{}` belongs to a type: put `#[handlers]` on {block}, and add its handlers with `.mount(…)`",
                text(path)
            );
            return Err(syn::Error::new_spanned(path, message));
        }
        Ok(path.clone())
    }

    fn item(&self, path: &Path) -> TokenStream {
        let krate = &self.krate;
        let Registry { method, item, .. } = registry(self.kind);
        let listed_as = format_ident!("Listed{item}");
        let Some(last) = path.segments.last() else { return TokenStream::new() };
        // With the span of the function's name, where errors belong.
        let listed = Ident::new("__Item", last.ident.span());
        let names_it = if path.segments.len() > 1 {
            quote!(use #path as #listed;)
        } else {
            // For rustc it comes from this macro, and stands where the user wrote it.
            let mut name = last.ident.clone();
            name.set_span(Span::call_site().located_at(name.span()));
            quote!(type #listed = #name;)
        };
        quote!({
            #[allow(unused_imports, deprecated)]
            #names_it
            <#listed as #krate::__private::#listed_as>::#method()
        })
    }

    /// The macro, as the user writes it.
    fn name(&self) -> String {
        format!("{}s![]", self.kind.attribute())
    }

    /// The attribute of the functions it lists.
    fn attribute(&self) -> &'static str {
        match self.kind {
            Kind::Tool => "#[tool]",
            Kind::Prompt => "#[prompt]",
            Kind::Resource | Kind::Derive => "#[resource(\"uri\")]",
        }
    }

    fn expected(&self) -> String {
        format!("expected the name of a function with `{}`", self.attribute())
    }
}

/// The type that a path leads through: `App` in `App::search`. Modules begin with a small letter.
fn owner(path: &Path) -> Option<&Ident> {
    let owner = &path.segments.iter().rev().nth(1)?.ident;
    owner.unraw().to_string().starts_with(char::is_uppercase).then_some(owner)
}

/// Tokens as the user would write them.
fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().replace(" :: ", "::").replace(" (", "(")
}
