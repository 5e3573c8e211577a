//! `cargo mcp pack`: a bundle that clients install with a click, and the entry of the registry that points to it.

mod bundle;
mod registry;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use lexopt::ValueExt as _;
use mcp_runtime::cli::terminal::Terminal;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use self::bundle::Platform;
use self::registry::Download;
use crate::failure::Failure;
use crate::package::{Build, Package};

const HELP: &str = "\
Build a release, and write it as an MCP bundle (NAME.mcpb) with an entry for the MCP registry (server.json).

Usage: cargo mcp pack [OPTIONS]

Options:
  -p, --package NAME  the package of the server; the one in the current directory if omitted
  --bin NAME          its binary, if there are several
  --target TRIPLE     build for another platform; the bundle is then called NAME-TRIPLE.mcpb
  --out DIR           where to write; target/mcp if omitted
  --name NAME         the name in the registry; io.github.OWNER/PACKAGE, from `repository`, if omitted
  --url URL           where the bundle can be downloaded: the file, or the directory it is in; the release vVERSION
                      on GitHub if omitted
  --dry-run           print manifest.json and server.json, and write nothing
  -h, --help          show this page
";

/// What the command line asks for.
#[derive(Default)]
struct PackOptions {
    package: Option<String>,
    binary: Option<String>,
    target: Option<String>,
    out: Option<PathBuf>,
    name: Option<String>,
    url: Option<String>,
    dry_run: bool,
    help: bool,
}

impl PackOptions {
    fn parse(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let mut options = PackOptions::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            let place = match argument {
                lexopt::Arg::Long("package") | lexopt::Arg::Short('p') => &mut options.package,
                lexopt::Arg::Long("bin") => &mut options.binary,
                lexopt::Arg::Long("target") => &mut options.target,
                lexopt::Arg::Long("name") => &mut options.name,
                lexopt::Arg::Long("url") => &mut options.url,
                lexopt::Arg::Long("out") => {
                    options.out = Some(parser.value()?.into());
                    continue;
                }
                lexopt::Arg::Long("dry-run") => {
                    options.dry_run = true;
                    continue;
                }
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => {
                    options.help = true;
                    continue;
                }
                other => return Err(other.unexpected().into()),
            };
            *place = Some(parser.value()?.string()?);
        }
        Ok(options)
    }
}

/// What is written.
struct Packed {
    file: String,
    bundle: Vec<u8>,
    manifest: Value,
    /// The entry of the registry; `None` if the server has no name there.
    server: Option<Value>,
}

/// Runs `cargo mcp pack`.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let options = PackOptions::parse(arguments)?;
    if options.help {
        let _ = io::stdout().write_all(HELP.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let package = Package::find(options.package.as_deref(), options.binary.as_deref())?;
    let out = options.out.clone().unwrap_or_else(|| package.target.join("mcp"));
    let terminal = Terminal::stderr();
    let packed = pack(&package, &options, &out, terminal)?;
    if options.dry_run {
        let parts: Vec<String> =
            [Some(&packed.manifest), packed.server.as_ref()].into_iter().flatten().map(pretty).collect();
        let _ = io::stdout().write_all(parts.concat().as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    write(&out.join(&packed.file), &packed.bundle, terminal)?;
    if let Some(server) = &packed.server {
        write(&out.join("server.json"), pretty(server).as_bytes(), terminal)?;
        let bundles =
            server["packages"].as_array().into_iter().flatten().filter(|known| known["registryType"] == "mcpb");
        for url in bundles.filter_map(|bundle| bundle["identifier"].as_str()).filter(|url| url.ends_with(&packed.file))
        {
            eprintln!("{} upload {} as {}", terminal.green("        Next"), packed.file, terminal.cyan(url));
        }
        let publish = terminal.cyan("mcp-publisher publish");
        eprintln!("{} `{publish}` in {}", terminal.green("        Then"), shown(&out).display());
    }
    Ok(ExitCode::SUCCESS)
}

fn pack(package: &Package, options: &PackOptions, out: &Path, terminal: Terminal) -> Result<Packed, Failure> {
    let target = options.target.as_deref();
    let platform = Platform::of(target)?;
    let name = registry::name(package, options.name.as_deref())?;
    let problems = name.as_deref().map(|name| registry::problems(package, name)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(Failure::new(problems.join("\n  and ")));
    }
    // before the build, which takes its time
    bundle::description(package)?;
    bundle::author(package)?;
    // A program for another platform does not run here, so that of this machine is asked.
    let build = Build { release: true, target };
    let contract = package.contract(&Build { release: target.is_none(), target: None })?;
    let icon = fs::read(package.folder.join("icon.png")).ok();
    let manifest = bundle::manifest(package, &contract, platform, icon.is_some())?;
    let path = package.build(&build)?;
    let binary = fs::read(&path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let bundle = bundle::bundle(&manifest, (&package.binary, &binary), platform, icon.as_deref())?;
    let suffix = target.map(|target| format!("-{target}")).unwrap_or_default();
    let file = format!("{}{suffix}.mcpb", package.name());
    let Some(name) = name else {
        let remedy =
            "add `repository = \"https://github.com/OWNER/NAME\"` to Cargo.toml, or pass `--name com.example/NAME`";
        eprintln!(
            "{} server.json is left out: the server has no name in the registry; {remedy}",
            terminal.yellow("warning:")
        );
        return Ok(Packed { file, bundle, manifest, server: None });
    };
    let url = registry::download_url(package, options.url.as_deref(), &file);
    if url.is_none() {
        let warning = terminal.yellow("warning:");
        eprintln!("{warning} server.json does not name the bundle: `--url URL` says where it can be downloaded");
    }
    let download = url.map(|url| Download { url, sha256: sha256(&bundle) });
    let before = [out.join("server.json"), package.folder.join("server.json")];
    let before = before.iter().find_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok());
    let server = registry::server_json(package, &contract, &name, download.as_ref(), before);
    Ok(Packed { file, bundle, manifest, server: Some(server) })
}

fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn write(path: &Path, contents: &[u8], terminal: Terminal) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, contents)).map_err(failed)?;
    eprintln!("{} {}", terminal.green("       Wrote"), shown(path).display());
    Ok(())
}

/// A path below the current directory, relative to it.
fn shown(path: &Path) -> PathBuf {
    let current = env::current_dir().unwrap_or_default();
    path.strip_prefix(current).unwrap_or(path).to_owned()
}

/// JSON for people to read, with an end of line.
fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_written_in_hexadecimal() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
