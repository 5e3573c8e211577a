//! What clients rely on.

use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() {
    assert_contract!(protected_notes::server(protected_notes::local()), ContractOptions::new().deny_lints());
}
