//! What the fuzz targets share: lines of the server judged, a server to talk to, and the books on
//! who is owed an answer.

pub mod ledger;
pub mod server;
pub mod wire;
