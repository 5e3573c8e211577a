//! Rejects non-finite numbers in results: `serde_json` writes NaN and infinities as null, which violates
//! the schema of a number.

use std::fmt;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::error::{Error, Result};

/// Serializes `value` as JSON; an error the model can read if a number is not finite.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value)?;
    // Nulls are rare, so the second pass is, too.
    let suspect = memchr::memmem::find(json.as_bytes(), b"null").is_some();
    if suspect && matches!(value.serialize(Finite), Err(Stopped::NotFinite)) {
        return Err(Error::msg(
            "The result contains a number that JSON cannot represent (NaN or infinity). Try other arguments.",
        ));
    }
    Ok(json)
}

/// A serializer that writes nothing and stops at a non-finite number.
#[derive(Clone, Copy)]
struct Finite;

#[derive(Debug)]
enum Stopped {
    NotFinite,
    /// The value's `Serialize` failed, though it succeeded before: ignored.
    Failed,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Stopped {}

impl serde::ser::Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Stopped::Failed
    }
}

type Go = Result<(), Stopped>;

/// Scalars other than floats.
macro_rules! pass {
    ($($name:ident($($ty:ty),*);)*) => {$(
        fn $name(self, $(_: $ty),*) -> Go {
            Ok(())
        }
    )*};
}

/// Compound values, whose parts are visited one by one.
macro_rules! enter {
    ($($name:ident($($ty:ty),*) -> $compound:ident;)*) => {$(
        type $compound = Self;
        fn $name(self, $(_: $ty),*) -> Result<Self, Stopped> {
            Ok(self)
        }
    )*};
}

impl Serializer for Finite {
    type Ok = ();
    type Error = Stopped;

    pass! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    enter! {
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_map(Option<usize>) -> SerializeMap;
        serialize_struct(&'static str, usize) -> SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }

    fn serialize_f32(self, number: f32) -> Go {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Go {
        if number.is_finite() { Ok(()) } else { Err(Stopped::NotFinite) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Go {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Go {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Go {
        value.serialize(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Go {
        Ok(())
    }
}

macro_rules! parts {
    ($($compound:ident: $part:ident($($key:ident)?);)*) => {$(
        impl $compound for Finite {
            type Ok = ();
            type Error = Stopped;

            fn $part<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Go {
                value.serialize(*self)
            }

            fn end(self) -> Go {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(_key);
    SerializeStructVariant: serialize_field(_key);
}

impl SerializeMap for Finite {
    type Ok = ();
    type Error = Stopped;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Go {
        // serde_json itself rejects a non-finite key.
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Go {
        value.serialize(*self)
    }

    fn end(self) -> Go {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(serde::Serialize, Default)]
    struct Row {
        text: String,
        mean: f64,
        maybe: Option<f32>,
        more: BTreeMap<&'static str, Shape>,
    }

    #[derive(serde::Serialize)]
    enum Shape {
        Point,
        Circle(f64),
        Line(f64, f64),
        Box { width: f32 },
    }

    #[test]
    fn non_finite_numbers_are_an_error() {
        let shaped = |shape| Row { more: BTreeMap::from([("a", Shape::Point), ("b", shape)]), ..Row::default() };
        for row in [
            Row { mean: f64::NAN, ..Row::default() },
            Row { maybe: Some(f32::INFINITY), ..Row::default() },
            shaped(Shape::Circle(f64::NEG_INFINITY)),
            shaped(Shape::Line(0.0, f64::NAN)),
            shaped(Shape::Box { width: f32::NAN }),
        ] {
            let error = to_json(&[row]).unwrap_err().to_string();
            assert!(error.contains("JSON cannot represent"), "{error}");
        }
        assert!(to_json(&f64::NAN).is_err());
        assert!(to_json(&((1, 2.0), [f64::NAN])).is_err());
    }

    #[test]
    fn finite_numbers_nulls_and_raw_values_are_written() {
        let row = Row { text: "null".into(), more: BTreeMap::from([("a", Shape::Circle(f64::MAX))]), ..Row::default() };
        assert_eq!(to_json(&row).unwrap(), serde_json::to_string(&row).unwrap());
        let raw = serde_json::value::RawValue::from_string("[null, 1e999]".into()).unwrap();
        assert_eq!(to_json(&raw).unwrap(), "[null, 1e999]");
        assert_eq!(to_json(&serde_json::json!({"a": [null, 1.5, "x"]})).unwrap(), r#"{"a":[null,1.5,"x"]}"#);
    }
}
