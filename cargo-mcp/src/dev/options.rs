//! [`Options`]: the command line of `cargo mcp dev`.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use crate::failure::Failure;

pub(crate) const HELP: &str = "\
Run an MCP server, and replace it when its source changes, without dropping the client

Usage: cargo mcp dev [OPTIONS] [-- ARGS...]

A client starts `cargo mcp dev` as it would start the server. ARGS are the server's.

Options:
  -p, --package SPEC        Package to run
      --bin NAME            Binary to run
      --example NAME        Example to run
      --features FEATURES   Features to enable, separated by commas
      --release             Build with optimizations
      --manifest-path PATH  Path to Cargo.toml
      --http [ADDR]         Serve HTTP on this address instead of stdio [default: 127.0.0.1:8080]
      --http-args ARGS      Arguments that make the server listen [default: --http 127.0.0.1:0]
      --inspector           Start the MCP Inspector against the server (takes Node.js)
  -q, --quiet               Print errors only
  -h, --help                Print this page
";

/// Which executable of which package, and how it is built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    pub(crate) manifest_path: Option<PathBuf>,
    pub(crate) package: Option<String>,
    pub(crate) bin: Option<String>,
    pub(crate) example: Option<String>,
    pub(crate) features: Option<String>,
    pub(crate) release: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) target: Target,
    /// The address to serve HTTP on.
    pub(crate) http: Option<String>,
    /// What makes the server listen on a free port.
    pub(crate) http_arguments: Vec<String>,
    pub(crate) inspector: bool,
    pub(crate) quiet: bool,
    pub(crate) help: bool,
    /// The server's own arguments.
    pub(crate) arguments: Vec<OsString>,
}

const ADDRESS: &str = "127.0.0.1:8080";

impl Options {
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, Failure> {
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let mut options = Options {
            http_arguments: vec!["--http".to_owned(), "127.0.0.1:0".to_owned()],
            arguments: arguments.iter().skip(end + 1).cloned().collect(),
            ..Options::default()
        };
        let mut parser = Parser::from_args(&arguments[..end]);
        while let Some(argument) = parser.next()? {
            let target = &mut options.target;
            match argument {
                Arg::Short('p') | Arg::Long("package") => target.package = Some(parser.value()?.string()?),
                Arg::Long("bin") => target.bin = Some(parser.value()?.string()?),
                Arg::Long("example") => target.example = Some(parser.value()?.string()?),
                Arg::Long("features") => target.features = Some(parser.value()?.string()?),
                Arg::Long("release") => target.release = true,
                Arg::Long("manifest-path") => target.manifest_path = Some(parser.value()?.into()),
                Arg::Long("http") => options.http = Some(address(&mut parser)?),
                Arg::Long("http-args") => {
                    options.http_arguments = parser.value()?.string()?.split_whitespace().map(str::to_owned).collect();
                }
                Arg::Long("inspector") => options.inspector = true,
                Arg::Short('q') | Arg::Long("quiet") => options.quiet = true,
                Arg::Short('h') | Arg::Long("help") => options.help = true,
                Arg::Value(value) => {
                    let value = value.to_string_lossy().into_owned();
                    return Err(Failure::usage(format!(
                        "unexpected argument `{value}`; the server's own arguments go after `--`"
                    )));
                }
                argument @ (Arg::Short(_) | Arg::Long(_)) => return Err(argument.unexpected().into()),
            }
        }
        if options.target.bin.is_some() && options.target.example.is_some() {
            return Err(Failure::usage("`--bin` and `--example` name two executables; give one of them"));
        }
        Ok(options)
    }
}

/// `--http` may stand alone.
fn address(parser: &mut Parser) -> Result<String, Failure> {
    if let Some(value) = parser.optional_value() {
        return Ok(value.string()?);
    }
    let next = parser.try_raw_args().and_then(|rest| rest.peek().and_then(|next| next.to_str().map(str::to_owned)));
    match next {
        Some(next) if !next.starts_with('-') => Ok(parser.value()?.string()?),
        _ => Ok(ADDRESS.to_owned()),
    }
}
