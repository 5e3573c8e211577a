//! What clients rely on.

use std::path::Path;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() -> Result<()> {
    assert_contract!(notes::server(Path::new(":memory:"))?, ContractOptions::new().deny_lints());
    Ok(())
}
