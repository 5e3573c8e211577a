//! Row 24: defaults of the wrong type.
use mcp_runtime::prelude::*;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
enum Unit {
    Celsius,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Silent {
    x: f64,
}

#[tool]
fn number(#[arg(default = "ten")] limit: u32) -> u32 {
    limit
}

#[tool]
fn text(#[arg(default = 10)] name: String) -> String {
    name
}

#[tool]
fn negative(#[arg(default = -1)] limit: u32) -> u32 {
    limit
}

#[tool]
fn large(#[arg(default = 300)] limit: u8) -> u8 {
    limit
}

#[tool]
fn unit(#[arg(default = Unit::Kelvin)] unit: Unit) -> i64 {
    unit as i64
}

#[tool]
fn no_default(#[arg(default)] unit: Unit) -> i64 {
    unit as i64
}

#[tool]
fn not_shown(#[arg(default = Silent { x: 1.0 })] point: Silent) -> f64 {
    point.x
}

#[tool]
fn other_argument(a: i64, #[arg(default = a)] b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tools![number, text, negative, large, unit, no_default, not_shown, other_argument];
}
