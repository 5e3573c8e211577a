//! Compile errors, as a user sees them. `../README.md` says how to add one.

use std::fs;
use std::io::Write as _;
use std::path::Path;
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
             Run `rustup run {TOOLCHAIN}0 cargo test -p mcp-ui-tests` to check them.\n"
        );
        return;
    }
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

/// A crate without the features that these tests enable. Only the part of the messages that is ours is compared.
#[test]
fn methods_of_missing_features_name_the_feature() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("missing-feature");
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"missing-feature\"\nedition = \"2024\"\n\n[dependencies]\nmcp-runtime.path = {:?}\n\n[workspace]\n",
        root.join("mcp-runtime")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let program = "use mcp_runtime::prelude::*;
async fn serve(server: Server) -> Result<(), ServerError> {
    drop(server.tracing_layer().with(1));
    server.into_service().allow_hosts([\"a\"]).serve(\"127.0.0.1:80\").await?;
    Server::new(\"a\", \"1\").run().await;
    Server::new(\"a\", \"1\").run_with([\"tools\"]).await;
    Server::new(\"a\", \"1\").serve_http(\"127.0.0.1:80\").await
}
#[tool(scopes(\"a\"))]
fn scoped() {}
fn main() {
    let _ = (serve, tools![scoped]);
}
";
    fs::write(folder.join("src/main.rs"), program).unwrap();
    // What the repository has built for its checks is not built again.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut check = Command::new(env!("CARGO"));
    // What cargo has told this test about its package: build scripts look at it, and their crates would be built again.
    let told = |name: &str| name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(|name| told(name)) {
        check.env_remove(name);
    }
    let output = check
        .args(["check", "--offline", "--color=never", "--target-dir"])
        .arg(target)
        .current_dir(&folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_ours =
        |line: &&str| ["error[", "--> src/", "= note: in Cargo.toml"].iter().any(|start| line.starts_with(start));
    let ours: Vec<&str> = stderr.lines().map(str::trim_start).filter(is_ours).collect();
    assert_eq!(
        ours,
        [
            "error[E0599]: the `tracing` layer needs the feature `tracing-layer` of mcp-runtime",
            "--> src/main.rs:3:17",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"tracing-layer\"] }`",
            "error[E0599]: serving over HTTP needs the feature `http` of mcp-runtime",
            "--> src/main.rs:4:12",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"http\"] }`",
            "error[E0599]: a server's own command line needs the feature `cli` of mcp-runtime",
            "--> src/main.rs:5:27",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"cli\"] }`; `serve_stdio` needs no feature",
            "error[E0599]: a server's own command line needs the feature `cli` of mcp-runtime",
            "--> src/main.rs:6:27",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"cli\"] }`; `serve_stdio` needs no feature",
            "error[E0599]: serving over HTTP needs the feature `http` of mcp-runtime",
            "--> src/main.rs:7:27",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"http\"] }`",
            "error[E0277]: `scopes` needs the feature `auth` of mcp-runtime",
            "--> src/main.rs:9:15",
            "= note: in Cargo.toml: `mcp-runtime = { version = \"0.1\", features = [\"auth\"] }`",
        ],
        "{stderr}"
    );
}
