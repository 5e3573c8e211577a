//! What the clients of the server rely on.

use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() {
    assert_contract!(metrics::server(), ContractOptions::new().deny_lints());
}
