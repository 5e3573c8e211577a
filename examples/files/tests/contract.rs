//! What clients rely on.

use files::Roots;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() -> Result<()> {
    let roots = Roots::open([env!("CARGO_MANIFEST_DIR")])?;
    assert_contract!(files::server(roots), ContractOptions::new().deny_lints());
    Ok(())
}
