//! [`Object`]: a JSON object read one level deep, for `params`, `arguments` and `_meta`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::raw::{Members, Raw};
use crate::jsonrpc::error::{RpcError, shorten, without_position};

/// A nested object: its text, and its members or the reason they are invalid.
type Inner<'a> = (Raw<'a>, Result<Object<'a>, String>);

/// A JSON object read one level deep: its keys, each with its raw value, in the sender's order.
///
/// Values are decoded where they are used, straight into the type that is needed there.
#[derive(Debug, Default)]
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Object<'a> {
    /// Reads an object. Duplicate and undecodable keys are errors.
    pub(crate) fn read(raw: Raw<'a>) -> Result<Self, String> {
        if raw.kind() != "object" {
            return Err(format!("expected an object, found {}", raw.kind()));
        }
        Self::gather(&mut raw.members(), |_, members| members.value())
    }

    /// Like [`read`](Self::read); reads the object under `key`, if there is one, in the same pass.
    pub(crate) fn read_with(raw: Raw<'a>, key: &str) -> Result<(Self, Option<Inner<'a>>), String> {
        let mut inner = None;
        let outer = Self::gather(&mut raw.members(), |name, members| {
            if name != key {
                return members.value();
            }
            inner = members.object(|inside| Self::gather(inside, |_, members| members.value()));
            match &inner {
                Some((raw, _)) => Some(*raw),
                None => members.value(),
            }
        })?;
        Ok((outer, inner))
    }

    /// Collects all members of `from`; `take` consumes the value of each.
    fn gather(
        from: &mut Members<'a>,
        mut take: impl FnMut(&str, &mut Members<'a>) -> Option<Raw<'a>>,
    ) -> Result<Self, String> {
        let (mut members, mut invalid) = (Vec::with_capacity(4), None);
        while let Some(key) = from.key() {
            let Some(value) = take(key.as_deref().unwrap_or_default(), from) else { break };
            match key {
                Ok(key) => members.push((key, value)),
                Err(error) => invalid = invalid.or(Some(error)),
            }
        }
        if let Some(error) = invalid {
            return Err(without_position(&error));
        }
        match duplicate(&members) {
            Some(name) => Err(shorten(&format!("duplicate key `{name}`")).into_owned()),
            None => Ok(Object { members }),
        }
    }

    /// The value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The string under `key`, or an error that names the key.
    pub(crate) fn string(&self, key: &str) -> Result<Cow<'a, str>, RpcError> {
        required_string(self.get(key), key)
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }
}

/// A key that occurs more than once. JSON readers disagree on which value counts, so such objects are rejected.
fn duplicate<'m>(members: &'m [(Cow<'_, str>, Raw<'_>)]) -> Option<&'m str> {
    const FEW: usize = 16;
    if members.len() > FEW {
        let mut seen = HashSet::with_capacity(members.len());
        return members.iter().map(|(name, _)| &**name).find(|name| !seen.insert(*name));
    }
    let earlier = |at: usize| members[..at].iter().any(|(name, _)| *name == members[at].0);
    (1..members.len()).find(|at| earlier(*at)).map(|at| &*members[at].0)
}

/// An object of the protocol that may be absent: `params`, `arguments`, `_meta`.
pub(crate) fn optional_object<'a>(name: &str, raw: Option<Raw<'a>>) -> Result<Object<'a>, RpcError> {
    optional(name, raw, Object::read)
}

/// Reads an object of the protocol that may be absent with `read`. Null counts as absent.
pub(crate) fn optional<'a, T: Default>(
    name: &str,
    raw: Option<Raw<'a>>,
    read: impl FnOnce(Raw<'a>) -> Result<T, String>,
) -> Result<T, RpcError> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(T::default()) };
    match raw.kind() {
        "object" => read(raw).map_err(|why| invalid_object(name, &why)),
        other => Err(RpcError::wrong_field(name, "object", other)),
    }
}

/// The string `raw`, or an error that names the `field`.
pub(crate) fn required_string(raw: Option<Raw<'_>>, field: impl fmt::Display) -> Result<Cow<'_, str>, RpcError> {
    raw.and_then(Raw::text).ok_or_else(|| {
        let actual = raw.map_or("missing", Raw::kind);
        RpcError::wrong_field(&shorten(&field.to_string()), "string", actual)
    })
}

/// The error for an object with invalid keys.
pub(crate) fn invalid_object(name: &str, why: &str) -> RpcError {
    RpcError::invalid_request(&format!("`{name}`: {why}"))
}

/// A string that borrows from the frame unless it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonStr<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_are_rejected() {
        for count in [2, 40] {
            let members: Vec<String> = (0..count).map(|n| format!(r#""k{n}":0"#)).collect();
            let unique = format!("{{{}}}", members.join(","));
            assert!(Object::read(Raw::new_unchecked(&unique)).is_ok());
            let twice = format!("{{{},\"k1\":1}}", members.join(","));
            assert!(Object::read(Raw::new_unchecked(&twice)).unwrap_err().contains("`k1`"));
        }
    }

    #[test]
    fn required_strings_name_their_field() {
        let object = Object::read(Raw::new_unchecked(r#"{"a":"x","b":1,"c":"\ud800"}"#)).unwrap();
        assert_eq!(object.string("a").unwrap(), "x");
        let error = |key| object.string(key).unwrap_err().message;
        assert_eq!(error("b"), "Invalid params: `b` must be of type string, not integer");
        assert_eq!(error("c"), "Invalid params: `c` is not a valid string");
        assert_eq!(error("d"), "Invalid params: `d` is missing; it is of type string");
    }
}
