//! How things look: signatures, contents, progress.

pub(super) mod content;
pub(super) mod progress;
pub(super) mod schema;
pub(super) mod signature;
pub(super) mod text;
