//! The four lists: in pages, rendered once per revision, or per request where it depends on who asks.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination>

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::json;

use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::raw::Raw;
use crate::protocol::Revision;

/// A list the server can give.
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
    /// The member of the result that holds it.
    pub(crate) fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
            ListKind::Prompts => "prompts",
        }
    }
}

/// The first page of each list, by revision: what nearly every client asks for.
#[derive(Debug, Default)]
pub(crate) struct PageCache([[OnceLock<Arc<str>>; Revision::ALL.len()]; 4]);

impl PageCache {
    pub(crate) fn first_page(&self, list: ListKind, revision: Revision, render: impl FnOnce() -> Arc<str>) -> Arc<str> {
        Arc::clone(self.0[list as usize][revision as usize].get_or_init(render))
    }
}

/// What is offered has changed: nothing rendered holds.
impl Clone for PageCache {
    fn clone(&self) -> Self {
        PageCache::default()
    }
}

/// Where a page begins: behind an item of the page before. The item is known by its name, so that
/// the rest of the list is the rest of the list whatever was added or removed in the meantime, and
/// any replica of the server can go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Where the item was, for when it is gone.
    at: usize,
    name: String,
}

impl Cursor {
    pub(crate) fn behind(at: usize, name: &str) -> Self {
        Cursor { at, name: name.to_owned() }
    }

    /// The text a client sends back, which means nothing to it.
    pub(crate) fn print(&self, list: ListKind) -> String {
        BASE64.encode(format!("{}:{}:{}", list.member(), self.at, self.name))
    }

    fn parse(text: &str, list: ListKind) -> Option<Self> {
        let text = String::from_utf8(BASE64.decode(text).ok()?).ok()?;
        let (at, name) = text.strip_prefix(list.member())?.strip_prefix(':')?.split_once(':')?;
        Some(Cursor { at: at.parse().ok()?, name: name.to_owned() })
    }

    /// The cursor of a request, if it has one.
    pub(crate) fn wanted(raw: Option<Raw<'_>>, list: ListKind) -> Result<Option<Self>, RpcError> {
        let raw = match raw {
            None => return Ok(None),
            Some(raw) if raw.get() == "null" => return Ok(None),
            Some(raw) => raw,
        };
        if raw.kind() != "string" {
            return Err(RpcError::wrong_field("cursor", "string", raw.kind()));
        }
        let cursor = serde_json::from_str(raw.get()).ok().and_then(|text: String| Cursor::parse(&text, list));
        cursor.map(Some).ok_or_else(|| {
            let text = "Invalid params: unknown `cursor`: send the `nextCursor` of a page of this list, or none";
            RpcError::invalid_params(text).with_data(json!({"field": "cursor"}))
        })
    }

    /// The index of the first item of the page, among items of these names.
    pub(crate) fn start<'a>(&self, mut names: impl ExactSizeIterator<Item = &'a str>) -> usize {
        let count = names.len();
        names.position(|name| name == self.name).map_or(self.at.min(count), |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_for_the_list_that_gave_it() {
        let cursor = Cursor::behind(7, "a:b");
        let text = cursor.print(ListKind::Tools);
        assert_eq!(Cursor::parse(&text, ListKind::Tools), Some(cursor));
        assert_eq!(Cursor::parse(&text, ListKind::Prompts), None);
        for other in ["", "x", "dG9vbHM", "dG9vbHM6eDp5"] {
            assert_eq!(Cursor::parse(other, ListKind::Tools), None, "{other}");
        }
    }

    #[test]
    fn the_rest_is_the_rest_whatever_changed() {
        let cursor = Cursor::behind(1, "b");
        assert_eq!(cursor.start(["a", "b", "c"].into_iter()), 2);
        assert_eq!(cursor.start(["b", "c"].into_iter()), 1, "one before it is gone");
        assert_eq!(cursor.start(["a", "c"].into_iter()), 1, "it is gone itself");
        assert_eq!(cursor.start([].into_iter()), 0);
    }
}
