//! A serde deserializer for text: prompt arguments and URI variables are strings on the wire.

pub(crate) use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};

use crate::jsonrpc::error::shorten;

/// Parses a `T`: strings, numbers, booleans, unit enums, and newtypes and options of these.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    T::deserialize(Text(text))
}

struct Text<'a>(&'a str);

impl Text<'_> {
    fn parse<T: std::str::FromStr>(&self, expected: &str) -> Result<T, Error> {
        self.0.trim().parse().map_err(|_| self.unparsable(expected))
    }

    fn unparsable(&self, expected: &str) -> Error {
        Error::custom(format_args!("expected {expected}, got {:?}", shorten(self.0)))
    }
}

macro_rules! parsed {
    ($($method:ident => $visit:ident, $expected:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.parse($expected)?)
        }
    )*};
}

macro_rules! as_text {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_str(self.0)
        }
    )*};
}

macro_rules! refused {
    ($($method:ident($($arg:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $arg,)* _: V) -> Result<V::Value, Error> {
            Err(Error::custom("this argument arrives as text; its type cannot be read from a string"))
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    parsed! {
        deserialize_bool => visit_bool, "true or false";
        deserialize_i8 => visit_i8, "an integer";
        deserialize_i16 => visit_i16, "an integer";
        deserialize_i32 => visit_i32, "an integer";
        deserialize_i64 => visit_i64, "an integer";
        deserialize_i128 => visit_i128, "an integer";
        deserialize_u8 => visit_u8, "an integer from 0 to 255";
        deserialize_u16 => visit_u16, "a non-negative integer";
        deserialize_u32 => visit_u32, "a non-negative integer";
        deserialize_u64 => visit_u64, "a non-negative integer";
        deserialize_u128 => visit_u128, "a non-negative integer";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let number: f64 = self.parse("a number")?;
        // Rust parses `inf` and `NaN`, which are not numbers in JSON.
        if number.is_finite() { visitor.visit_f64(number) } else { Err(self.unparsable("a number")) }
    }

    as_text! {
        deserialize_any deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_identifier deserialize_ignored_any
    }

    refused! {
        deserialize_unit();
        deserialize_unit_struct(&'static str);
        deserialize_seq();
        deserialize_tuple(usize);
        deserialize_tuple_struct(&'static str, usize);
        deserialize_map();
        deserialize_struct(&'static str, &'static [&'static str]);
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text: serde::de::value::StrDeserializer<'_, Error> = self.0.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Style {
        Plain,
        Fancy,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Id(u64);

    #[test]
    fn text_is_parsed_into_the_type() {
        assert_eq!(read::<i64>("-5").unwrap(), -5);
        assert!(read::<bool>("true").unwrap());
        assert_eq!(read::<String>("5").unwrap(), "5");
        assert_eq!(read::<Option<f64>>("1.5").unwrap(), Some(1.5));
        assert_eq!(read::<Style>("fancy").unwrap(), Style::Fancy);
        assert_eq!(read::<Id>("7").unwrap(), Id(7));
        assert_eq!(read::<Option<Style>>("plain").unwrap(), Some(Style::Plain));
    }

    #[test]
    fn parse_errors_are_explained() {
        assert_eq!(read::<u32>("x").unwrap_err().to_string(), "expected a non-negative integer, got \"x\"");
        assert!(read::<Style>("neon").unwrap_err().to_string().contains("expected `plain` or `fancy`"));
        assert!(read::<Vec<u8>>("1").unwrap_err().to_string().contains("arrives as text"));
    }
}
