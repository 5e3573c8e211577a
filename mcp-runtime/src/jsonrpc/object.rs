//! JSON objects of the protocol, read one level deep and no further.

use std::borrow::Cow;
use std::collections::HashSet;

use super::raw::{Members, Raw};
use crate::jsonrpc::error::{RpcError, shorten, without_position};

/// An object inside another: its text, and its members or what is wrong with them.
type Inner<'a> = (Raw<'a>, Result<Object<'a>, String>);

/// A JSON object read one level deep: its keys, each with its raw value, in the sender's order.
///
/// The one shape for `params`, `arguments` and `_meta`: values are decoded where they are used,
/// straight into the type that is wanted there.
#[derive(Debug, Default)]
pub(crate) struct Object<'a> {
    optional_object: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Object<'a> {
    /// The members of an object, each once, or what is wrong with them.
    pub(crate) fn read(raw: Raw<'a>) -> Result<Self, String> {
        if raw.kind() != "object" {
            return Err(format!("expected an object, found {}", raw.kind()));
        }
        Self::gather(&mut raw.members(), |_, optional_object| optional_object.value())
    }

    /// Like [`read`](Self::read), and in the same pass what is inside the object under `key`, if one is.
    pub(crate) fn read_with(raw: Raw<'a>, key: &str) -> Result<(Self, Option<Inner<'a>>), String> {
        let mut inner = None;
        let outer = Self::gather(&mut raw.members(), |name, optional_object| {
            if name != key {
                return optional_object.value();
            }
            inner = optional_object.object(|inside| Self::gather(inside, |_, optional_object| optional_object.value()));
            match &inner {
                Some((raw, _)) => Some(*raw),
                None => optional_object.value(),
            }
        })?;
        Ok((outer, inner))
    }

    /// Takes all members there are, each with the value `take` takes.
    fn gather(
        from: &mut Members<'a>,
        mut take: impl FnMut(&str, &mut Members<'a>) -> Option<Raw<'a>>,
    ) -> Result<Self, String> {
        let (mut optional_object, mut wrong) = (Vec::with_capacity(4), None);
        while let Some(key) = from.key() {
            let Some(value) = take(key.as_deref().unwrap_or_default(), from) else { break };
            match key {
                Ok(key) => optional_object.push((key, value)),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        if let Some(error) = wrong {
            return Err(without_position(&error));
        }
        match duplicate(&optional_object) {
            Some(name) => Err(shorten(&format!("`{name}` is there twice")).into_owned()),
            None => Ok(Object { optional_object }),
        }
    }

    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.optional_object.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.optional_object.iter().map(|(name, value)| (&**name, *value))
    }
}

/// A key that is there twice: readers disagree on which value counts, so neither does here.
fn duplicate<'m>(optional_object: &'m [(Cow<'_, str>, Raw<'_>)]) -> Option<&'m str> {
    const FEW: usize = 16;
    if optional_object.len() > FEW {
        let mut seen = HashSet::with_capacity(optional_object.len());
        return optional_object.iter().map(|(name, _)| &**name).find(|name| !seen.insert(*name));
    }
    let earlier = |at: usize| optional_object[..at].iter().any(|(name, _)| *name == optional_object[at].0);
    (1..optional_object.len()).find(|at| earlier(*at)).map(|at| &*optional_object[at].0)
}

/// An object of the protocol that may be absent: `params`, `arguments`, `_meta`.
pub(crate) fn optional_object<'a>(name: &str, raw: Option<Raw<'a>>) -> Result<Object<'a>, RpcError> {
    optional(name, raw, Object::read)
}

/// What `read` makes of an object of the protocol that may be absent.
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

/// What is said of an object with a mistake in its keys.
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
    fn a_key_is_there_once() {
        for count in [2, 40] {
            let optional_object: Vec<String> = (0..count).map(|n| format!(r#""k{n}":0"#)).collect();
            let unique = format!("{{{}}}", optional_object.join(","));
            assert!(Object::read(Raw::new_unchecked(&unique)).is_ok());
            let twice = format!("{{{},\"k1\":1}}", optional_object.join(","));
            assert!(Object::read(Raw::new_unchecked(&twice)).unwrap_err().contains("`k1`"));
        }
    }
}
