//! Shared by the fuzz targets: validation of the server's lines, a server to test, and the ledger of
//! requests and responses.

pub mod ledger;
pub mod server;
pub mod wire;
