//! What clients rely on: `contract.json`. Record a change of it with `UPDATE_CONTRACT=1 cargo test`.

use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() {
    assert_contract!(starter::server(), ContractOptions::new().deny_lints());
}
