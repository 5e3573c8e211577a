//! What the spelling of an argument's type tells: text, a number, a list. An alias or a user's type tells nothing;
//! the runtime knows its schema.

use quote::quote;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// A kind of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Integer,
    Float,
    Bool,
    List,
}

/// A type whose kind of value is known by its spelling.
#[derive(Debug)]
pub(super) struct Spelling {
    pub(super) shape: Shape,
    /// The type without `Option<…>` and type arguments, for messages.
    pub(super) name: String,
}

impl Spelling {
    pub(super) fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Group(group) => Spelling::of(&group.elem),
            Type::Paren(paren) => Spelling::of(&paren.elem),
            Type::Array(_) => Some(Spelling { shape: Shape::List, name: quote!(#ty).to_string() }),
            Type::Path(path) if path.qself.is_none() => {
                let last = path.path.segments.last()?;
                let name = last.ident.to_string();
                match &*name {
                    "Option" => Spelling::of(argument(last)?),
                    "Box" | "Arc" | "Rc" | "Cow" => {
                        let Type::Path(inner) = argument(last)? else { return None };
                        let text = inner.path.is_ident("str").then(|| format!("{name}<str>"));
                        text.map(|name| Spelling { shape: Shape::Text, name })
                    }
                    _ => shape(&name).map(|shape| Spelling { shape, name }),
                }
            }
            _ => None,
        }
    }

    /// The smallest and the largest value of an integer type of a fixed width.
    pub(super) fn range(&self) -> Option<(i128, i128)> {
        Some(match &*self.name {
            "i8" => (i8::MIN.into(), i8::MAX.into()),
            "i16" => (i16::MIN.into(), i16::MAX.into()),
            "i32" => (i32::MIN.into(), i32::MAX.into()),
            "i64" => (i64::MIN.into(), i64::MAX.into()),
            "u8" => (0, u8::MAX.into()),
            "u16" => (0, u16::MAX.into()),
            "u32" => (0, u32::MAX.into()),
            "u64" => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    /// `` a `u32` ``
    pub(super) fn with_article(&self) -> String {
        // "an i32", "an f64", but "a u32"
        let article = if self.name.starts_with(['i', 'f', 'A']) { "an" } else { "a" };
        format!("{article} `{}`", self.name)
    }
}

/// The `T` of an `Option<T>`.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().filter(|last| last.ident == "Option").and_then(argument)
}

/// Whether no text is a value of this type: a list, a map, a tuple, or an `Option` of one.
pub(crate) fn is_structured(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Path(path) => {
            let last = path.path.segments.last().map(|last| last.ident.to_string());
            matches!(last.as_deref(), Some("HashMap" | "BTreeMap" | "IndexMap"))
                || optional(ty).is_some_and(is_structured)
                || Spelling::of(ty).is_some_and(|spelling| spelling.shape == Shape::List)
        }
        _ => Spelling::of(ty).is_some_and(|spelling| spelling.shape == Shape::List),
    }
}

/// The first type among the arguments of `Segment<…>`.
fn argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn shape(name: &str) -> Option<Shape> {
    Some(match name {
        "String" | "str" | "char" | "PathBuf" => Shape::Text,
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
            Shape::Integer
        }
        "f32" | "f64" => Shape::Float,
        "bool" => Shape::Bool,
        "Vec" | "VecDeque" | "LinkedList" | "HashSet" | "BTreeSet" | "IndexSet" => Shape::List,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(ty: &Type) -> Option<(Shape, String)> {
        Spelling::of(ty).map(|spelling| (spelling.shape, spelling.with_article()))
    }

    #[test]
    fn options_are_peeled_and_unknown_names_tell_nothing() {
        let of = |text: &str| spelling(&syn::parse_str(text).unwrap());
        assert_eq!(of("Option<std::string::String>"), Some((Shape::Text, "a `String`".to_owned())));
        assert_eq!(of("::std::option::Option<Option<i8>>"), Some((Shape::Integer, "an `i8`".to_owned())));
        assert_eq!(of("std::collections::BTreeSet<u8>"), Some((Shape::List, "a `BTreeSet`".to_owned())));
        assert_eq!(of("Cow<'static, str>"), Some((Shape::Text, "a `Cow<str>`".to_owned())));
        assert_eq!(of("Arc<str>"), Some((Shape::Text, "an `Arc<str>`".to_owned())));
        assert_eq!(of("[u8; 4]"), Some((Shape::List, "a `[u8 ; 4]`".to_owned())));
        assert_eq!(of("Box<Query>"), None);
        assert_eq!(of("Celsius"), None);
    }
}
