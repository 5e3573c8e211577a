//! Embeds the examples, from which `cargo mcp new` makes new servers, as a table in `$OUT_DIR/examples.rs`.
//!
//! They are read from `../examples`. A package has no such folder, so `embed.sh` copies them to `embedded/` before
//! `cargo package`, with every `Cargo.toml` as `Cargo.toml.embedded`: cargo leaves folders with a `Cargo.toml` out of
//! a package.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// `Cargo.toml`, as it is called in a package.
const EMBEDDED_MANIFEST: &str = "Cargo.toml.embedded";

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = [package.join("../examples"), package.join("embedded")].into_iter().find(|root| root.is_dir());
    let root = root.expect("the examples are in ../examples, or in embedded/ (see embed.sh)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", root.display());

    let mut table = String::from("&[\n");
    for example in sorted(&root)?.into_iter().filter(|path| path.is_dir()) {
        let mut files = Vec::new();
        collect(&example, &mut files)?;
        writeln!(table, "    Example {{ name: {:?}, files: &[", name(&example)).expect("a string");
        for file in files {
            let inside = file.strip_prefix(&example).expect("it was found there").to_str().expect("UTF-8");
            let inside = inside.replace('\\', "/").replace(EMBEDDED_MANIFEST, "Cargo.toml");
            let file = file.canonicalize()?.into_os_string().into_string().expect("a path in UTF-8");
            writeln!(table, "        ({inside:?}, include_bytes!({file:?})),").expect("a string");
        }
        table.push_str("    ] },\n");
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("examples.rs"), table)
}

/// The files of an example, without what is built and what is hidden.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| !name(path).starts_with('.') && !["target", "Cargo.lock"].contains(&&*name(path)));
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().expect("an entry of a folder").to_str().expect("examples have names in UTF-8").to_owned()
}
