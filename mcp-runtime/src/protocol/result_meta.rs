//! [`ResultMeta`]: the `_meta` of a result, which most results do not have.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use super::Meta;

/// A [`Meta`] that takes the size of a pointer, and nothing while it is empty: a result is moved several times on its way to
/// the client, and a map of its own would be more than half of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultMeta(Option<Box<Meta>>);

impl ResultMeta {
    pub(crate) fn into_inner(self) -> Meta {
        self.0.map(|meta| *meta).unwrap_or_default()
    }
}

impl Deref for ResultMeta {
    type Target = Meta;

    fn deref(&self) -> &Meta {
        static EMPTY: OnceLock<Meta> = OnceLock::new();
        match &self.0 {
            Some(meta) => meta,
            None => EMPTY.get_or_init(Meta::new),
        }
    }
}

impl DerefMut for ResultMeta {
    fn deref_mut(&mut self) -> &mut Meta {
        self.0.get_or_insert_default()
    }
}
