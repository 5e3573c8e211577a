//! Row 6: `unsafe`, `extern`. A `const fn` is fine.
use mcp_runtime::prelude::*;

#[tool]
unsafe fn peek(address: u64) -> u64 {
    address
}

#[tool]
const fn two() -> i64 {
    2
}

#[tool]
extern "C" fn callback(code: i32) -> i32 {
    code
}

#[tool]
pub const unsafe extern "C" fn all_three() {}

fn main() {
    let _ = tools![peek, two, callback, all_three];
    const TWO: i64 = two();
    callback(TWO as i32);
}
