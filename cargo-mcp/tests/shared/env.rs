//! The environment of programs that tests start.

use std::process::Command;

/// Removes what cargo has told a test about its own package: build scripts look at it, `ring`'s for one, and everything above
/// them would be built again.
pub(crate) fn without_package(command: &mut Command) -> &mut Command {
    let told = |name: &str| name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(|name| told(name)) {
        command.env_remove(name);
    }
    command
}
