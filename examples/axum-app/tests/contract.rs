//! What the clients of both servers rely on.

use mcp_runtime::lint::{LintOptions, Rule};
use mcp_runtime::testing::{ContractOptions, assert_contract};

#[test]
fn counter_keeps_its_contract() {
    let options = ContractOptions::new().path("contracts/counter.json").deny_lints();
    assert_contract!(axum_app::counter(Default::default()), options);
}

#[test]
fn calculator_keeps_its_contract() {
    // "Add two integers" says what they are.
    let lints = LintOptions::new().allow(Rule::MissingDescription, "tool add");
    let options = ContractOptions::new().path("contracts/calculator.json").deny_lints().lints(lints);
    assert_contract!(axum_app::calculator(), options);
}
