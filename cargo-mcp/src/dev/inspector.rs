//! `--inspector`: the MCP Inspector against `cargo mcp dev`.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

use super::options::Options;
use super::report::Report;
use crate::failure::Failure;

const PACKAGE: &str = "@modelcontextprotocol/inspector";

/// On stdio the Inspector starts `cargo mcp dev` itself; over HTTP both are started here.
pub(crate) fn run(arguments: &[OsString], options: &Options) -> Result<ExitCode, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::new(format!("cannot find cargo-mcp: {error}")))?;
    let own = without_flag(arguments);
    let mut inspector = Command::new(if cfg!(windows) { "npx.cmd" } else { "npx" });
    inspector.args(["-y", PACKAGE]);
    let Some(address) = &options.http else {
        // The Inspector starts servers with few variables, and a cargo that was set up by variables needs its own.
        for (name, value) in std::env::vars_os().filter(|(name, _)| is_passed_on(name)) {
            let mut pair = name;
            pair.push("=");
            pair.push(value);
            inspector.arg("-e").arg(pair);
        }
        inspector.arg("--").arg(program).args(["mcp", "dev"]).args(own);
        let status = inspector.status().map_err(|error| missing(&error))?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let url = format!("http://{address}/mcp");
    inspector.args(["--transport", "http", "--server-url", &url]);
    let mut inspector = inspector.spawn().map_err(|error| missing(&error))?;
    Report::verbatim(&format!("The server for the Inspector is {url}; connect when it serves."));
    let served = Command::new(program).args(["mcp", "dev"]).args(own).status();
    inspector.kill().ok();
    inspector.wait().ok();
    let served = served.map_err(|error| Failure::new(format!("cannot start cargo-mcp: {error}")))?;
    Ok(if served.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"].contains(&&*name)
}

fn missing(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot run npx: {error}; install Node.js, which has it"))
}

/// The command line without `--inspector`; what is after `--` is the server's.
fn without_flag(arguments: &[OsString]) -> Vec<OsString> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let own = arguments[..end].iter().filter(|argument| *argument != "--inspector");
    own.chain(&arguments[end..]).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_flag_of_dev_is_removed() {
        let arguments = ["--inspector", "-p", "notes", "--", "--inspector"].map(OsString::from);
        assert_eq!(without_flag(&arguments), ["-p", "notes", "--", "--inspector"].map(OsString::from));
    }
}
