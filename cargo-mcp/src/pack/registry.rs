//! `server.json`: the entry of a server in the MCP registry. <https://github.com/modelcontextprotocol/registry>

use std::path::Path;

use regex_lite::Regex;
use serde_json::{Map, Value, json};

use crate::contract::Contract;
use crate::failure::Failure;
use crate::package::Package;

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// The most that the registry accepts in a description.
const DESCRIPTION: usize = 100;

/// A bundle that can be downloaded.
pub(super) struct Download {
    pub(super) url: String,
    pub(super) sha256: String,
}

/// The name in the registry: the one given, or `io.github.OWNER/NAME`. `None` if there is neither.
pub(super) fn name(package: &Package, given: Option<&str>) -> Result<Option<String>, Failure> {
    let derived = || Some(format!("io.github.{}/{}", github(package.text("repository")?)?.0, package.name()));
    let Some(name) = given.map(str::to_owned).or_else(derived) else { return Ok(None) };
    let valid = Regex::new(r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$").expect("a pattern").is_match(&name);
    if valid && name.len() <= 200 {
        return Ok(Some(name));
    }
    Err(Failure::usage(format!(
        "`{name}` is no name for the registry: it takes `io.github.USER/NAME` or `com.example/NAME`"
    )))
}

/// The owner and the name of a repository on GitHub.
fn github(url: &str) -> Option<(&str, &str)> {
    let path = url.split_once("://")?.1.trim_start_matches("www.").strip_prefix("github.com/")?;
    let (owner, rest) = path.trim_end_matches('/').trim_end_matches(".git").split_once('/')?;
    Some((owner, rest.split('/').next()?)).filter(|(owner, name)| !owner.is_empty() && !name.is_empty())
}

/// Where a bundle can be downloaded: at the URL given, or in the release of this version on GitHub.
pub(super) fn download_url(package: &Package, given: Option<&str>, file: &str) -> Option<String> {
    match given {
        Some(url) if url.rsplit('.').next() == Some("mcpb") => Some(url.to_owned()),
        Some(url) => Some(format!("{}/{file}", url.trim_end_matches('/'))),
        None => {
            let (owner, name) = github(package.text("repository")?)?;
            Some(format!("https://github.com/{owner}/{name}/releases/download/v{}/{file}", package.version()))
        }
    }
}

/// What the registry would refuse, each with its remedy.
pub(super) fn problems(package: &Package, name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let length = package.text("description").unwrap_or_default().chars().count();
    if length > DESCRIPTION {
        problems.push(format!(
            "the registry takes descriptions of at most {DESCRIPTION} characters, and that in Cargo.toml has {length}"
        ));
    }
    if package.is_published() && !names(&package.readme().unwrap_or_default(), name) {
        problems.push(format!(
            "the README must name the server, which proves that the crate belongs to it; add this line, visible, not in \
             a comment:\n\n    mcp-name: {name}\n\n  or set `publish = false` if the crate is not published"
        ));
    }
    problems
}

/// Whether a README has the line that proves ownership, outside of comments: these are not shown on a crate's page.
fn names(readme: &str, name: &str) -> bool {
    let visible = Regex::new(r"(?s)<!--.*?-->").expect("a pattern").replace_all(readme, "");
    let line =
        Regex::new(&format!(r"mcp-name:\s*{}(?:[^\w./-]|$)", regex_lite::escape(name))).expect("a name is escaped");
    line.is_match(&visible)
}

/// `server.json`. What `before`, the file as it was, has beyond what is known here, such as remotes and environment
/// variables, stays; so do the bundles of the same version for other platforms.
pub(super) fn server_json(
    package: &Package,
    contract: &Contract,
    name: &str,
    download: Option<&Download>,
    before: Option<Value>,
) -> Value {
    let before = before.and_then(|before| match before {
        Value::Object(members) if members.get("name").is_some_and(|known| known == name) => Some(members),
        _ => None,
    });
    let before = before.unwrap_or_default();
    let mut server = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            server.insert(key.to_owned(), value);
        }
    };
    set("$schema", Some(SCHEMA.into()));
    set("name", Some(name.into()));
    set("title", contract.title().filter(|title| title.chars().count() <= DESCRIPTION).map(Value::from));
    set("description", package.text("description").map(Value::from));
    set("repository", repository(package));
    set("websiteUrl", package.text("homepage").map(Value::from));
    set("version", Some(package.version().into()));
    set("packages", Some(packages(package, download, &before)));
    for (key, value) in before {
        server.entry(key).or_insert(value);
    }
    Value::Object(server)
}

fn packages(package: &Package, download: Option<&Download>, before: &Map<String, Value>) -> Value {
    let stdio = json!({"type": "stdio"});
    let known = before.get("packages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let same_version = before.get("version").is_some_and(|version| version == package.version());
    let mut packages = Vec::new();
    if package.is_published() {
        let cargo = json!({
            "registryType": "cargo", "identifier": package.name(), "version": package.version(), "transport": stdio,
        });
        packages.push(over(known.iter().find(|known| known["registryType"] == "cargo"), cargo));
    }
    if let Some(Download { url, sha256 }) = download {
        let mcpb = json!({
            "registryType": "mcpb", "identifier": url, "version": package.version(), "fileSha256": sha256, "transport": stdio,
        });
        packages.push(over(known.iter().find(|known| known["identifier"] == *url), mcpb));
    }
    let other = known.iter().filter(|known| match known["registryType"].as_str() {
        Some("cargo") => false,
        Some("mcpb") => same_version && download.is_none_or(|download| known["identifier"] != download.url),
        _ => true,
    });
    packages.extend(other.cloned());
    packages.into()
}

/// A package with what the same package had before.
fn over(before: Option<&Value>, mut now: Value) -> Value {
    if let (Some(before), Some(now)) = (before.and_then(Value::as_object), now.as_object_mut()) {
        for (key, value) in before {
            now.entry(key.clone()).or_insert(value.clone());
        }
    }
    now
}

/// The repository; of hosts that the registry knows.
fn repository(package: &Package) -> Option<Value> {
    let url = package.text("repository")?;
    let host = url.split_once("://")?.1.trim_start_matches("www.");
    let source = ["github", "gitlab"].into_iter().find(|source| host.starts_with(&format!("{source}.com/")))?;
    let mut repository = json!({"url": url.trim_end_matches('/').trim_end_matches(".git"), "source": source});
    if let Some(subfolder) = subfolder(&package.folder) {
        repository["subfolder"] = subfolder.into();
    }
    Some(repository)
}

/// The path of a package in its repository, unless it is the root.
fn subfolder(folder: &Path) -> Option<String> {
    let root = folder.ancestors().find(|ancestor| ancestor.join(".git").exists())?;
    let path = folder.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(more: Value) -> Package {
        let mut metadata = json!({"name": "demo", "version": "1.2.0", "description": "A demo.", "publish": null,
            "repository": "https://github.com/Ada/tools.git"});
        if let (Some(metadata), Value::Object(more)) = (metadata.as_object_mut(), more) {
            metadata.extend(more);
        }
        Package::described(metadata)
    }

    fn contract() -> Contract {
        Contract::parse(r#"{"server": {"name": "demo", "title": "Demo"}}"#).ok().unwrap()
    }

    #[test]
    fn name_is_given_or_comes_from_the_repository() {
        assert_eq!(name(&package(json!({})), None).ok().unwrap().as_deref(), Some("io.github.Ada/demo"));
        assert_eq!(name(&package(json!({})), Some("com.example/x")).ok().unwrap().as_deref(), Some("com.example/x"));
        let elsewhere = package(json!({"repository": "https://git.example.com/ada/tools"}));
        assert_eq!(name(&elsewhere, None).ok().unwrap(), None);
        assert!(name(&elsewhere, Some("demo")).is_err());
    }

    #[test]
    fn bundle_is_downloaded_from_the_release() {
        let url = |given| download_url(&package(json!({})), given, "demo.mcpb");
        let released = "https://github.com/Ada/tools/releases/download/v1.2.0/demo.mcpb";
        assert_eq!(url(None).as_deref(), Some(released));
        assert_eq!(url(Some("https://x.example/r/")).as_deref(), Some("https://x.example/r/demo.mcpb"));
        assert_eq!(url(Some("https://x.example/a.mcpb")).as_deref(), Some("https://x.example/a.mcpb"));
    }

    #[test]
    fn readme_names_the_server_visibly() {
        let name = "io.github.ada/demo";
        assert!(names("# demo\n\nmcp-name: io.github.ada/demo\n", name));
        assert!(names("`mcp-name: io.github.ada/demo`", name));
        assert!(!names("<!-- mcp-name: io.github.ada/demo -->", name));
        assert!(!names("mcp-name: io.github.ada/demo-two", name));
        assert!(!names("", name));
    }

    #[test]
    fn server_json_has_both_packages() {
        let download = Download { url: "https://x.example/demo.mcpb".to_owned(), sha256: "ab".repeat(32) };
        let server = server_json(&package(json!({})), &contract(), "io.github.Ada/demo", Some(&download), None);
        assert_eq!(
            server,
            json!({
                "$schema": SCHEMA, "name": "io.github.Ada/demo", "title": "Demo", "description": "A demo.",
                "repository": {"url": "https://github.com/Ada/tools", "source": "github"}, "version": "1.2.0",
                "packages": [
                    {"registryType": "cargo", "identifier": "demo", "version": "1.2.0", "transport": {"type": "stdio"}},
                    {"registryType": "mcpb", "identifier": "https://x.example/demo.mcpb", "version": "1.2.0",
                     "fileSha256": "ab".repeat(32), "transport": {"type": "stdio"}},
                ],
            })
        );
        let private = server_json(&package(json!({"publish": []})), &contract(), "a/b", None, None);
        assert_eq!(private["packages"], json!([]));
    }

    #[test]
    fn edits_and_other_platforms_are_kept() {
        let before = json!({"name": "a/b", "version": "1.2.0", "remotes": [{"type": "streamable-http", "url": "https://r"}], "packages": [
            {"registryType": "cargo", "identifier": "demo", "version": "1.1.0", "environmentVariables": [{"name": "KEY"}]},
            {"registryType": "mcpb", "identifier": "https://x/mac.mcpb", "fileSha256": "1"},
            {"registryType": "mcpb", "identifier": "https://x/linux.mcpb", "fileSha256": "2"},
            {"registryType": "oci", "identifier": "ghcr.io/ada/demo:1"},
        ]});
        let download = Download { url: "https://x/linux.mcpb".to_owned(), sha256: "3".to_owned() };
        let merged = |version: &str, name: &str| {
            server_json(&package(json!({"version": version})), &contract(), name, Some(&download), Some(before.clone()))
        };
        let same = merged("1.2.0", "a/b");
        assert_eq!(same["remotes"], before["remotes"]);
        assert_eq!(same["packages"][0]["environmentVariables"], json!([{"name": "KEY"}]));
        assert_eq!(same["packages"][0]["version"], "1.2.0");
        assert_eq!(same["packages"][1]["fileSha256"], "3");
        assert_eq!(same["packages"][2]["identifier"], "https://x/mac.mcpb");
        assert_eq!(same["packages"][3]["registryType"], "oci");
        let next = merged("1.3.0", "a/b");
        assert_eq!(next["packages"].as_array().map(Vec::len), Some(3), "the old bundle for macOS is gone: {next}");
        assert_eq!(merged("1.2.0", "other/name").get("remotes"), None);
    }

    #[test]
    fn problems_come_with_their_remedies() {
        let long = package(json!({"description": "x".repeat(101)}));
        let told = problems(&long, "io.github.Ada/demo");
        assert!(told[0].contains("101"), "{told:?}");
        assert!(told[1].contains("mcp-name: io.github.Ada/demo"), "{told:?}");
        assert!(problems(&package(json!({"publish": []})), "a/b").is_empty());
    }
}
