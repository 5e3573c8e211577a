//! The protected resource: its address, and the document about it.

mod metadata;
mod url;

pub(super) use metadata::Metadata;
pub(super) use url::{ResourceUrl, WELL_KNOWN};
