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
    members: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Object<'a> {
    /// The members of an object, each once, or what is wrong with them.
    pub(crate) fn read(raw: Raw<'a>) -> Result<Self, String> {
        if raw.kind() != "object" {
            return Err(format!("expected an object, found {}", raw.kind()));
        }
        Self::gather(&mut raw.members(), |_, members| members.value())
    }

    /// Like [`read`](Self::read), and in the same pass what is inside the object under `key`, if one is.
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

    /// Takes all members there are, each with the value `take` takes.
    fn gather(
        from: &mut Members<'a>,
        mut take: impl FnMut(&str, &mut Members<'a>) -> Option<Raw<'a>>,
    ) -> Result<Self, String> {
        let (mut members, mut wrong) = (Vec::with_capacity(4), None);
        while let Some(key) = from.key() {
            let Some(value) = take(key.as_deref().unwrap_or_default(), from) else { break };
            match key {
                Ok(key) => members.push((key, value)),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        if let Some(error) = wrong {
            return Err(without_position(&error));
        }
        match duplicate(&members) {
            Some(name) => Err(shorten(&format!("`{name}` is there twice")).into_owned()),
            None => Ok(Object { members }),
        }
    }

    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.members.iter().map(|(name, value)| (&**name, *value))
    }
}

/// A key that is there twice: readers disagree on which value counts, so neither does here.
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
pub(crate) fn members<'a>(name: &str, raw: Option<Raw<'a>>) -> Result<Object<'a>, RpcError> {
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
        "object" => read(raw).map_err(|why| unreadable(name, &why)),
        other => Err(RpcError::wrong_field(name, "object", other)),
    }
}

/// What is said of an object with a mistake in its keys.
pub(crate) fn unreadable(name: &str, why: &str) -> RpcError {
    RpcError::invalid_request(&format!("`{name}`: {why}"))
}

/// A string that borrows from the frame unless it has escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_there_once() {
        for count in [2, 40] {
            let members: Vec<String> = (0..count).map(|n| format!(r#""k{n}":0"#)).collect();
            let unique = format!("{{{}}}", members.join(","));
            assert!(Object::read(Raw::trusted(&unique)).is_ok());
            let twice = format!("{{{},\"k1\":1}}", members.join(","));
            assert!(Object::read(Raw::trusted(&twice)).unwrap_err().contains("`k1`"));
        }
    }
}
