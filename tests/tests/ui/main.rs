//! Compile errors, as a user sees them. `ui/README.md` says how to add one.

use std::io::Write as _;
use std::process::Command;

/// The compiler that wrote the `.stderr` files. Others word their part of the messages differently.
const TOOLCHAIN: &str = "1.95.";

#[test]
fn mistakes_match_their_stderr() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&output.stdout);
    let number = version.strip_prefix("rustc ").unwrap_or(&version).trim();
    if !number.starts_with(TOOLCHAIN) || number.contains("nightly") || number.contains("beta") {
        // Past the test harness, which hides the output of what passes.
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED: the compile errors in tests/ui were recorded with rustc {TOOLCHAIN}x, and this is {number}.\n\
             Run `rustup run {TOOLCHAIN}0 cargo test -p mcp-tests --test ui` to check them.\n"
        );
        return;
    }
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}
