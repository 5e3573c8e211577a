//! [`Source`]: where a new server gets `mcp-runtime` from, and its Cargo.toml.

use std::path::{Component, Path, PathBuf};

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value};

use super::example::Example;
use crate::failure::Failure;

/// Where the crates of this repository come from.
pub(super) enum Source {
    /// The registry, in the version of this binary.
    Published,
    /// A checkout of the repository.
    Checkout(PathBuf),
}

impl Source {
    /// The checkout that was named, or else the one around the current directory, or else the one this binary was built
    /// from (`cargo install --path`), or else the registry.
    pub(super) fn find(named: Option<PathBuf>, published: bool, current: &Path) -> Result<Self, Failure> {
        match named {
            Some(_) if published => Err(Failure::usage("choose one: --path CHECKOUT or --published")),
            None if published => Ok(Source::Published),
            Some(path) => {
                let path = std::path::absolute(current.join(&path)).unwrap_or(path);
                let not_one = format!(
                    "{} is not a checkout of mcp-runtime: --path takes the directory that has `mcp-runtime/` in it",
                    path.display()
                );
                is_checkout(&path).then_some(Source::Checkout(path)).ok_or(Failure::usage(not_one))
            }
            None => Ok(match current.ancestors().chain(built_from()).find(|path| is_checkout(path)) {
                Some(path) => Source::Checkout(path.to_owned()),
                None => Source::Published,
            }),
        }
    }

    /// The entry of a dependency on `krate`, with these other keys, for a package in `folder`.
    fn entry(&self, krate: &str, other: &InlineTable, folder: &Path) -> Item {
        let mut entry = InlineTable::new();
        match self {
            Source::Published if other.is_empty() => return toml_edit::value(env!("CARGO_PKG_VERSION")),
            Source::Published => entry.insert("version", env!("CARGO_PKG_VERSION").into()),
            Source::Checkout(checkout) => {
                let path = from(folder, checkout).join(krate);
                // cargo reads `/` on every system, and a `\` would be escaped
                entry.insert("path", path.to_string_lossy().replace('\\', "/").into())
            }
        };
        entry.extend(other.iter().map(|(key, value)| (key, value.clone().decorated(" ", ""))));
        entry.fmt();
        toml_edit::value(entry)
    }
}

/// Where this binary was built. In a registry's sources there is no `mcp-runtime` beside it.
fn built_from() -> Option<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent()
}

fn is_checkout(path: &Path) -> bool {
    std::fs::read_to_string(path.join("mcp-runtime/Cargo.toml"))
        .is_ok_and(|manifest| manifest.lines().any(|line| line == r#"name = "mcp-runtime""#))
}

/// The path of `checkout` as seen from `folder`: relative inside of the checkout, so that it can be moved.
fn from(folder: &Path, checkout: &Path) -> PathBuf {
    match folder.strip_prefix(checkout) {
        Ok(inside) if inside.components().all(|part| matches!(part, Component::Normal(_))) => {
            inside.components().map(|_| "..").collect()
        }
        _ => checkout.to_owned(),
    }
}

/// The Cargo.toml of an example, for a package with another name in `folder`.
pub(super) fn manifest(
    example: &Example,
    name: &str,
    source: &Source,
    folder: &Path,
    http: bool,
) -> Result<DocumentMut, Failure> {
    let text = example.text("Cargo.toml").unwrap_or_default();
    let mut manifest: DocumentMut = text.parse().map_err(Failure::new)?;
    let package = &mut manifest["package"];
    package["name"] = toml_edit::value(name);
    if package.get("description").is_none() {
        package["description"] = toml_edit::value(example.summary());
    }
    if let Some(package) = package.as_table_like_mut() {
        package.remove("publish");
        // What is for `cargo mcp new` alone.
        package.remove("metadata");
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(dependencies) = manifest.get_mut(kind).and_then(Item::as_table_like_mut) else { continue };
        for krate in ["mcp-runtime", "mcp-macros", "mcp-redis"] {
            let Some(entry) = dependencies.get_mut(krate) else { continue };
            let mut other = InlineTable::new();
            if let Some(keys) = entry.as_table_like() {
                let keys = keys.iter().filter(|(key, _)| !["path", "version"].contains(key));
                other.extend(keys.filter_map(|(key, item)| Some((key, item.as_value()?.clone()))));
            }
            if http && krate == "mcp-runtime" && kind == "dependencies" {
                add_feature(&mut other, "http");
            }
            *entry = source.entry(krate, &other, folder);
        }
    }
    Ok(manifest)
}

fn add_feature(entry: &mut InlineTable, feature: &str) {
    let features = entry.entry("features").or_insert(Value::Array(Array::new()));
    if let Some(features) = features.as_array_mut()
        && !features.iter().any(|known| known.as_str() == Some(feature))
    {
        features.push(feature);
    }
}

/// Whether the server is its own command line (`Server::run`).
pub(super) fn has_command_line(manifest: &DocumentMut) -> bool {
    let runtime = manifest.get("dependencies").and_then(|dependencies| dependencies.get("mcp-runtime"));
    let features = runtime.and_then(|runtime| runtime.get("features")).and_then(Item::as_array);
    features.is_some_and(|features| features.iter().any(|feature| feature.as_str() == Some("cli")))
}

/// The names of all dependencies, as Rust knows them.
pub(super) fn dependencies(manifest: &DocumentMut) -> Vec<String> {
    ["dependencies", "dev-dependencies"]
        .iter()
        .filter_map(|kind| manifest.get(kind)?.as_table_like())
        .flat_map(|table: &dyn TableLike| table.iter().map(|(name, _)| name.replace('-', "_")).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &[u8] = b"[package]
name = \"old\"
publish = false

[dependencies]
mcp-runtime = { path = \"../../mcp-runtime\" }
mcp-redis = { path = \"../../mcp-redis\" }
tokio = \"1\" # kept

[dev-dependencies]
mcp-runtime = { path = \"../../mcp-runtime\", features = [\"cli\"] }
";
    const OLD: Example =
        Example { name: "old", files: &[("Cargo.toml", MANIFEST), ("src/lib.rs", b"//! An old server.\n")] };

    fn made(source: &Source, folder: &str, http: bool) -> String {
        manifest(&OLD, "my-app", source, Path::new(folder), http).unwrap().to_string()
    }

    #[test]
    fn published_version_takes_the_place_of_the_path() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            made(&Source::Published, "/home/me/my-app", false),
            format!(
                "[package]\nname = \"my-app\"\ndescription = \"An old server\"\n\n[dependencies]\nmcp-runtime = \"{version}\"\n\
                 mcp-redis = \"{version}\"\ntokio = \"1\" # kept\n\n[dev-dependencies]\nmcp-runtime = {{ version = \"{version}\", features = [\"cli\"] }}\n"
            )
        );
    }

    #[test]
    fn checkout_is_named_by_its_path() {
        let checkout = Source::Checkout("/src/mcp".into());
        let outside = made(&checkout, "/home/me/my-app", true);
        assert!(
            outside.contains(r#"mcp-runtime = { path = "/src/mcp/mcp-runtime", features = ["http"] }"#),
            "{outside}"
        );
        let inside = made(&checkout, "/src/mcp/examples/my-app", false);
        assert!(inside.contains(r#"mcp-runtime = { path = "../../mcp-runtime" }"#), "{inside}");
        assert!(inside.contains(r#"mcp-redis = { path = "../../mcp-redis" }"#), "{inside}");
        assert!(inside.contains(r#"mcp-runtime = { path = "../../mcp-runtime", features = ["cli"] }"#), "{inside}");
    }

    #[test]
    fn checkout_is_found_around_the_current_directory() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let Ok(Source::Checkout(found)) = Source::find(None, false, package) else { panic!("not found") };
        assert_eq!(Some(found.as_path()), package.parent());
        let elsewhere = Path::new("/");
        assert!(matches!(Source::find(None, false, elsewhere), Ok(Source::Checkout(built)) if built == found));
        assert!(matches!(Source::find(None, true, elsewhere), Ok(Source::Published)));
        assert!(Source::find(Some("src".into()), false, package).is_err());
        assert!(Source::find(Some("..".into()), false, package).is_ok());
        assert!(Source::find(Some("..".into()), true, package).is_err());
    }
}
