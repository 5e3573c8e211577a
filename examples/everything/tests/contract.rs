//! What the official conformance suite relies on.

use mcp_runtime::lint::{LintOptions, Rule};
use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn contract_is_kept() {
    // The suite wants this schema as it is, to see that no keyword is lost.
    let lints = LintOptions::new()
        .allow(Rule::MissingDescription, "tool json_schema_2020_12_tool")
        .allow(Rule::RefusedSchema, "tool json_schema_2020_12_tool");
    assert_contract!(everything::server(), ContractOptions::new().deny_lints().lints(lints));
}
