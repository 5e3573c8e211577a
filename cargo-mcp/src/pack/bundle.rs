//! The bundle: a ZIP with `manifest.json` at its root and the binary in `server/`.
//! <https://github.com/modelcontextprotocol/mcpb>

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::contract::{Contract, first_line, text};
use crate::failure::Failure;
use crate::package::Package;

/// The newest version of manifests that describe binaries; 0.4 is about Python.
const MANIFEST_VERSION: &str = "0.3";

/// The operating systems a bundle can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Platform {
    Darwin,
    Linux,
    Win32,
}

impl Platform {
    /// That of a target triple, or of this machine.
    pub(super) fn of(target: Option<&str>) -> Result<Self, Failure> {
        let system = target.unwrap_or(std::env::consts::OS);
        match system {
            _ if system.contains("windows") => Ok(Platform::Win32),
            _ if system.contains("darwin") || system == "macos" => Ok(Platform::Darwin),
            _ if system.contains("linux") && !system.contains("android") => Ok(Platform::Linux),
            _ => {
                Err(Failure::usage(format!("no bundle can be for `{system}`: clients run on macOS, Windows and Linux")))
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Platform::Darwin => "darwin",
            Platform::Linux => "linux",
            Platform::Win32 => "win32",
        }
    }

    /// The path of the binary in the bundle.
    fn entry_point(self, binary: &str) -> String {
        format!("server/{binary}{}", if self == Platform::Win32 { ".exe" } else { "" })
    }
}

/// `manifest.json`: what a client shows before it installs the server, and how it starts it.
pub(super) fn manifest(
    package: &Package,
    contract: &Contract,
    platform: Platform,
    icon: bool,
) -> Result<Value, Failure> {
    let entry_point = platform.entry_point(&package.binary);
    let mut manifest = json!({
        "manifest_version": MANIFEST_VERSION,
        "name": package.name(),
        "version": package.version(),
        "description": description(package)?,
        "author": author(package)?,
        "server": {
            "type": "binary",
            "entry_point": &entry_point,
            // a server that is started with a pipe serves on it
            "mcp_config": {"command": format!("${{__dirname}}/{entry_point}"), "args": [], "env": {}},
        },
        "compatibility": {"platforms": [platform.name()]},
    });
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            manifest[key] = value;
        }
    };
    add("display_name", contract.title().map(Value::from));
    add("long_description", contract.instructions().map(Value::from));
    add("repository", package.text("repository").map(|url| json!({"type": "git", "url": url})));
    add("homepage", package.text("homepage").map(Value::from));
    add("documentation", package.text("documentation").map(Value::from));
    add("icon", icon.then(|| "icon.png".into()));
    add("license", package.text("license").map(Value::from));
    let keywords = package.texts("keywords");
    add("keywords", (!keywords.is_empty()).then(|| keywords.into()));
    let tools: Vec<Value> = contract.tools().iter().map(tool).collect();
    add("tools", (!tools.is_empty()).then(|| tools.into()));
    // A manifest lists prompts with their texts. Ours are made per request, so clients ask the server for them.
    add("prompts_generated", (!contract.prompts().is_empty()).then(|| true.into()));
    Ok(manifest)
}

fn tool(tool: &Value) -> Value {
    match first_line(tool) {
        "" => json!({"name": text(tool, "name")}),
        line => json!({"name": text(tool, "name"), "description": line}),
    }
}

/// The description in Cargo.toml.
pub(super) fn description(package: &Package) -> Result<&str, Failure> {
    let missing = "Cargo.toml has no `description`, which a bundle must have; add one to [package]";
    package.text("description").ok_or(Failure::new(missing))
}

/// The first author in Cargo.toml, or the owner of the repository.
pub(super) fn author(package: &Package) -> Result<Value, Failure> {
    if let Some(author) = package.texts("authors").first() {
        return Ok(match author.split_once('<') {
            Some((name, email)) => json!({"name": name.trim(), "email": email.trim_end_matches('>').trim()}),
            None => json!({"name": author.trim()}),
        });
    }
    let owner = package.text("repository").and_then(|url| url.trim_end_matches('/').rsplit('/').nth(1));
    owner.filter(|owner| !owner.is_empty()).map(|owner| json!({"name": owner})).ok_or_else(|| {
        let remedy = "add `authors = [\"Your Name <you@example.com>\"]` or `repository` to [package]";
        Failure::new(format!("Cargo.toml does not say who made the server, which a bundle must; {remedy}"))
    })
}

/// The bundle. The same inputs give the same bytes, and so the same hash.
pub(super) fn bundle(
    manifest: &Value,
    binary: (&str, &[u8]),
    platform: Platform,
    icon: Option<&[u8]>,
) -> Result<Vec<u8>, Failure> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, contents: &[u8], mode: u32| {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .unix_permissions(mode)
            .large_file(contents.len() > 1 << 31);
        zip.start_file(name, options).map_err(Failure::new)?;
        zip.write_all(contents).map_err(Failure::new)
    };
    add("manifest.json", super::pretty(manifest).as_bytes(), 0o644)?;
    let (name, contents) = binary;
    add(&platform.entry_point(name), contents, 0o755)?;
    if let Some(icon) = icon {
        add("icon.png", icon, 0o644)?;
    }
    Ok(zip.finish().map_err(Failure::new)?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn package(more: Value) -> Package {
        let mut metadata = json!({"name": "demo", "version": "1.2.0", "description": "A demo."});
        if let (Some(metadata), Value::Object(more)) = (metadata.as_object_mut(), more) {
            metadata.extend(more);
        }
        Package::described(metadata)
    }

    #[test]
    fn manifest_comes_from_cargo_and_the_contract() {
        let contract = json!({"server": {"name": "demo", "title": "Demo"}, "instructions": "Add first.",
            "tools": [{"name": "add", "description": "Add.\n\nTwo numbers."}, {"name": "bare"}], "prompts": [{"name": "p"}]});
        let contract = Contract::parse(&contract.to_string()).ok().unwrap();
        let package = package(json!({"authors": ["Ada <ada@example.com>"], "license": "MIT", "keywords": ["sums"],
            "repository": "https://github.com/ada/demo"}));
        assert_eq!(
            manifest(&package, &contract, Platform::Win32, true).ok().unwrap(),
            json!({
                "manifest_version": "0.3", "name": "demo", "version": "1.2.0", "description": "A demo.",
                "author": {"name": "Ada", "email": "ada@example.com"},
                "server": {"type": "binary", "entry_point": "server/demo.exe",
                    "mcp_config": {"command": "${__dirname}/server/demo.exe", "args": [], "env": {}}},
                "compatibility": {"platforms": ["win32"]},
                "display_name": "Demo", "long_description": "Add first.",
                "repository": {"type": "git", "url": "https://github.com/ada/demo"},
                "icon": "icon.png", "license": "MIT", "keywords": ["sums"],
                "tools": [{"name": "add", "description": "Add."}, {"name": "bare"}], "prompts_generated": true,
            })
        );
    }

    #[test]
    fn author_is_named_or_owns_the_repository() {
        let author = |more| author(&package(more)).ok();
        assert_eq!(author(json!({"authors": ["Ada"]})), Some(json!({"name": "Ada"})));
        assert_eq!(author(json!({"repository": "https://github.com/ada/demo/"})), Some(json!({"name": "ada"})));
        assert_eq!(author(json!({})), None);
    }

    #[test]
    fn bundle_keeps_the_executable_bit_and_is_reproducible() {
        let pack = || bundle(&json!({"name": "x"}), ("demo", b"\x7fELF"), Platform::Linux, Some(b"png")).ok().unwrap();
        assert_eq!(pack(), pack());
        let mut zip = zip::ZipArchive::new(Cursor::new(pack())).unwrap();
        let names: Vec<_> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert_eq!(names, ["manifest.json", "server/demo", "icon.png"]);
        let mut server = zip.by_name("server/demo").unwrap();
        assert_eq!(server.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut contents = Vec::new();
        server.read_to_end(&mut contents).unwrap();
        assert_eq!(contents, b"\x7fELF");
    }

    #[test]
    fn platform_is_that_of_the_target() {
        for (target, platform) in [
            ("x86_64-unknown-linux-musl", Platform::Linux),
            ("aarch64-apple-darwin", Platform::Darwin),
            ("x86_64-pc-windows-msvc", Platform::Win32),
        ] {
            assert_eq!(Platform::of(Some(target)).ok(), Some(platform));
        }
        assert!(Platform::of(None).is_ok());
        assert!(Platform::of(Some("wasm32-wasip2")).is_err());
        assert!(Platform::of(Some("aarch64-linux-android")).is_err());
        assert_eq!(Platform::Win32.entry_point("demo"), "server/demo.exe");
    }
}
