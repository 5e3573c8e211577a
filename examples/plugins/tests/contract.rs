//! What clients rely on, with the tools of `plugins.toml`.

use mcp_runtime::prelude::*;
use mcp_runtime::testing::{ContractOptions, assert_contract};
use plugins::Plugins;

#[test]
fn contract_is_kept() -> Result<()> {
    let plugins = Plugins::load(concat!(env!("CARGO_MANIFEST_DIR"), "/plugins.toml"))?;
    assert_contract!(plugins::server(&plugins), ContractOptions::new().deny_lints());
    Ok(())
}
