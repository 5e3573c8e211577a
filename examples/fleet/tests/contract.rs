//! What clients rely on.

use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() {
    assert_contract!(fleet_demo::server("one"), ContractOptions::new().deny_lints());
}
