//! Pagination of the four lists: cursors, and a cache of the first pages.
//!
//! A cursor is not signed: it gives access to nothing that the list itself does not.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination>

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::json;

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::protocol::Revision;

/// A paginated list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl ListKind {
    /// The member of the result that holds the list.
    pub(crate) fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
            ListKind::Prompts => "prompts",
        }
    }
}

/// The rendered first page of each list, by revision: most clients request no other page.
#[derive(Debug, Default)]
pub(crate) struct PageCache([[OnceLock<Arc<str>>; Revision::ALL.len()]; 4]);

impl PageCache {
    pub(crate) fn first_page(&self, list: ListKind, revision: Revision, render: impl FnOnce() -> Arc<str>) -> Arc<str> {
        Arc::clone(self.0[list as usize][revision as usize].get_or_init(render))
    }
}

/// The position after the last item of the previous page.
///
/// It names that item, so pages stay contiguous when items are added or removed in between, and any
/// replica of the server can continue the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The item's index, used when the item has been removed.
    index: usize,
    name: String,
}

impl Cursor {
    pub(crate) fn after(index: usize, name: &str) -> Self {
        Cursor { index, name: name.to_owned() }
    }

    /// The cursor on the wire; opaque to clients.
    pub(crate) fn encode(&self, list: ListKind) -> String {
        BASE64.encode(format!("{}:{}:{}", list.member(), self.index, self.name))
    }

    fn decode(text: &str, list: ListKind) -> Option<Self> {
        let text = String::from_utf8(BASE64.decode(text).ok()?).ok()?;
        let (index, name) = text.strip_prefix(list.member())?.strip_prefix(':')?.split_once(':')?;
        Some(Cursor { index: index.parse().ok()?, name: name.to_owned() })
    }

    /// Reads the `cursor` of a request.
    pub(crate) fn read(raw: Option<Raw<'_>>, list: ListKind) -> Result<Option<Self>, RpcError> {
        let raw = match raw {
            None => return Ok(None),
            Some(raw) if raw.get() == "null" => return Ok(None),
            Some(raw) => raw,
        };
        if raw.kind() != "string" {
            return Err(RpcError::wrong_field("cursor", "string", raw.kind()));
        }
        let cursor = serde_json::from_str(raw.get()).ok().and_then(|text: String| Cursor::decode(&text, list));
        cursor.map(Some).ok_or_else(|| {
            let text = "Invalid params: unknown `cursor`: send the `nextCursor` of a page of this list, or none";
            RpcError::invalid_params(text).with_data(json!({"field": "cursor"}))
        })
    }

    /// The index of the page's first item in a list of these names.
    pub(crate) fn start<'a>(&self, mut names: impl ExactSizeIterator<Item = &'a str>) -> usize {
        let count = names.len();
        names.position(|name| name == self.name).map_or(self.index.min(count), |index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_bound_to_its_list() {
        let cursor = Cursor::after(7, "a:b");
        let text = cursor.encode(ListKind::Tools);
        assert_eq!(Cursor::decode(&text, ListKind::Tools), Some(cursor));
        assert_eq!(Cursor::decode(&text, ListKind::Prompts), None);
        for other in ["", "x", "dG9vbHM", "dG9vbHM6eDp5"] {
            assert_eq!(Cursor::decode(other, ListKind::Tools), None, "{other}");
        }
    }

    #[test]
    fn cursor_survives_list_changes() {
        let cursor = Cursor::after(1, "b");
        assert_eq!(cursor.start(["a", "b", "c"].into_iter()), 2);
        assert_eq!(cursor.start(["b", "c"].into_iter()), 1, "an earlier item was removed");
        assert_eq!(cursor.start(["a", "c"].into_iter()), 1, "the item itself was removed");
        assert_eq!(cursor.start([].into_iter()), 0);
    }
}
