//! [`Renaming`]: the files of an example under the name of the new server.
//!
//! An example's name can be a word of its prose, too (`notes`). So names are replaced where they are names: in paths,
//! in commands, where the server is set up and where it introduces itself.

use regex_lite::{Regex, escape};
use serde_json::Value;

use super::example::Example;

/// From the names of an example to the name of the new server.
pub(super) struct Renaming {
    /// Patterns in Rust sources and what takes their place.
    sources: Vec<(Regex, String)>,
    /// The same in JSON: contracts, transcripts of conversations.
    data: Vec<(Regex, String)>,
    /// The same in documentation.
    pages: Vec<(Regex, String)>,
}

impl Renaming {
    pub(super) fn new(example: &Example, name: &str) -> Self {
        let package = escape(&example.package());
        let module = escape(&module(&example.package()));
        let server = escape(&server_name(example));
        let rule =
            |pattern: String, replacement: String| (Regex::new(&pattern).expect("names are escaped"), replacement);
        // `"serverInfo":{"name":"notes"`; in a contract, `"server": { "name": "notes"`
        let introduction =
            || rule(format!(r#"("server(?:Info)?":\s*\{{\s*"name":\s*)"{server}""#), format!(r#"${{1}}"{name}""#));
        // `notes /path/to/notes.db`, in backticks
        let command = || rule(format!(r"`{package}([` ])"), format!("`{name}${{1}}"));
        Renaming {
            sources: vec![
                // not `crate::notes::`, which is a module
                rule(format!(r"(?m)(^|[^\w:]){module}::"), format!("${{1}}{}::", self::module(name))),
                rule(format!(r#"CARGO_BIN_EXE_{package}""#), format!(r#"CARGO_BIN_EXE_{name}""#)),
                rule(format!(r#"Server::new\((\s*)"{server}""#), format!(r#"Server::new(${{1}}"{name}""#)),
                introduction(),
                command(),
            ],
            data: vec![introduction()],
            pages: vec![
                rule(format!(r"(?m)(cargo .*?) -p {package}\b"), "${1}".to_owned()),
                rule(format!(r"(target/(?:release|debug)/){package}\b"), format!("${{1}}{name}")),
                rule(format!(r#""{package}"(:\s*\{{\s*"command")"#), format!(r#""{name}"${{1}}"#)),
                rule(format!("examples/{}/", escape(example.name)), String::new()),
                // links that lead out of the example
                rule(r"\[([^\]]*)\]\(\.\./[^)]*\)".to_owned(), "${1}".to_owned()),
                introduction(),
                command(),
            ],
        }
    }

    /// A file with the new name. Other kinds of files have no names in them.
    pub(super) fn apply(&self, path: &str, contents: &str) -> String {
        let rules = match path.rsplit('.').next() {
            Some("rs") => &self.sources,
            Some("json") => &self.data,
            Some("md" | "Dockerfile") => &self.pages,
            _ => return contents.to_owned(),
        };
        rules.iter().fold(contents.to_owned(), |text, (pattern, replacement)| {
            pattern.replace_all(&text, replacement.as_str()).into_owned()
        })
    }
}

/// The name of a package as a path in Rust.
pub(super) fn module(package: &str) -> String {
    package.replace('-', "_")
}

/// What the example's server is called: as in its contract, or as its package.
fn server_name(example: &Example) -> String {
    let contract = example.text("contract.json").and_then(|text| serde_json::from_str::<Value>(text).ok());
    let name = contract.as_ref().and_then(|contract| contract["server"]["name"].as_str());
    name.unwrap_or(example.name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: Example =
        Example { name: "notes", files: &[("contract.json", br#"{"server": {"name": "my-notes"}, "tools": []}"#)] };

    #[track_caller]
    fn becomes(path: &str, before: &str, after: &str) {
        assert_eq!(Renaming::new(&NOTES, "my-app").apply(path, before), after);
    }

    #[test]
    fn paths_commands_and_introductions_are_renamed() {
        becomes(
            "src/main.rs",
            "notes::server(&notes)?;\nnotes::x(notes::y)",
            "my_app::server(&notes)?;\nmy_app::x(my_app::y)",
        );
        becomes("src/main.rs", "use notes::{server, store};", "use my_app::{server, store};");
        becomes("tests/a.rs", r#"env!("CARGO_BIN_EXE_notes")"#, r#"env!("CARGO_BIN_EXE_my-app")"#);
        becomes("src/lib.rs", r#"Server::new("my-notes", "1")"#, r#"Server::new("my-app", "1")"#);
        becomes("src/lib.rs", "//! `notes FILE` opens a file.", "//! `my-app FILE` opens a file.");
        let conversation = r#"{"serverInfo": {"name": "my-notes", "version": "1"}}"#;
        becomes("a.json", conversation, &conversation.replace("my-notes", "my-app"));
        becomes("contract.json", "{\"server\": {\n  \"name\": \"my-notes\"", "{\"server\": {\n  \"name\": \"my-app\"");
    }

    #[test]
    fn package_may_have_another_name_than_its_folder() {
        const FLEET: Example =
            Example { name: "fleet", files: &[("Cargo.toml", b"[package]\nname = \"fleet-demo\"\n")] };
        let renaming = Renaming::new(&FLEET, "my-app");
        assert_eq!(renaming.apply("src/main.rs", "fleet_demo::server(name)"), "my_app::server(name)");
        assert_eq!(
            renaming.apply("Dockerfile", "RUN cargo build --release -p fleet-demo && cp target/release/fleet-demo /s"),
            "RUN cargo build --release && cp target/release/my-app /s"
        );
        assert_eq!(renaming.apply("README.md", "bash examples/fleet/run"), "bash run");
    }

    #[test]
    fn words_modules_and_uris_keep_their_names() {
        for text in
            ["crate::notes::open()", "self::notes::open()", "let notes = 1;", "\"notes://index\"", "// all notes"]
        {
            becomes("src/lib.rs", text, text);
        }
        becomes(
            "contract.json",
            r#"{"name": "notes", "uri": "notes://index"}"#,
            r#"{"name": "notes", "uri": "notes://index"}"#,
        );
        becomes("README.md", "Find notes; `notes://index` lists them.", "Find notes; `notes://index` lists them.");
    }

    #[test]
    fn commands_of_a_readme_run_in_the_new_crate() {
        becomes("README.md", "cargo run -q -p notes -- :memory:", "cargo run -q -- :memory:");
        becomes("README.md", "cargo run -p notes examples/notes/a.toml", "cargo run a.toml");
        becomes(
            "README.md",
            r#"{ "notes": { "command": "/t/target/release/notes" } }"#,
            r#"{ "my-app": { "command": "/t/target/release/my-app" } }"#,
        );
        becomes("README.md", "see [`hello`](../hello) and [lib](src/lib.rs)", "see `hello` and [lib](src/lib.rs)");
    }
}
