//! [`Example`]: the examples of the repository, embedded in this binary by `build.rs`.

use std::fmt::Write as _;

use mcp_runtime::cli::closest;
use mcp_runtime::cli::terminal::Terminal;
use toml_edit::DocumentMut;

use crate::failure::Failure;

/// The example that is copied unless another one is named.
pub(super) const DEFAULT: &str = "starter";

/// A crate of the repository, to copy.
pub(super) struct Example {
    pub(super) name: &'static str,
    /// Paths below its folder, with `/`, and their contents.
    pub(super) files: &'static [(&'static str, &'static [u8])],
}

/// In alphabetical order.
pub(super) static EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

impl Example {
    /// The example with this name.
    pub(super) fn named(name: &str) -> Result<&'static Example, Failure> {
        EXAMPLES.iter().find(|example| example.name == name).ok_or_else(|| {
            let next = match closest(name, EXAMPLES.iter().map(|example| example.name)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "`cargo mcp new --list` shows them all".to_owned(),
            };
            Failure::usage(format!("there is no example `{name}`; {next}"))
        })
    }

    /// All of them, the default first.
    pub(super) fn all() -> Vec<&'static Example> {
        let mut all: Vec<&Example> = EXAMPLES.iter().collect();
        all.sort_by_key(|example| example.name != DEFAULT);
        all
    }

    /// A file as text.
    pub(super) fn text(&self, path: &str) -> Option<&'static str> {
        let (_, contents) = self.files.iter().find(|(name, _)| *name == path)?;
        std::str::from_utf8(contents).ok()
    }

    /// A text in the `package.metadata.example` of its Cargo.toml.
    pub(super) fn metadata(&self, key: &str) -> Option<String> {
        let manifest: DocumentMut = self.text("Cargo.toml")?.parse().ok()?;
        Some(manifest.get("package")?.get("metadata")?.get("example")?.get(key)?.as_str()?.to_owned())
    }

    /// The name of its package: that of its folder, unless the repository has another package of that name.
    pub(super) fn package(&self) -> String {
        let manifest = self.text("Cargo.toml").and_then(|text| text.parse::<DocumentMut>().ok());
        let name = manifest.as_ref().and_then(|manifest| manifest.get("package")?.get("name")?.as_str());
        name.unwrap_or(self.name).to_owned()
    }

    /// One line about it: the description in its Cargo.toml, or the first sentence of its README or its sources.
    pub(super) fn summary(&self) -> String {
        let described = || {
            let manifest: DocumentMut = self.text("Cargo.toml")?.parse().ok()?;
            Some(manifest.get("package")?.get("description")?.as_str()?.to_owned())
        };
        let readme = || {
            let paragraph = self.text("README.md")?.split("\n\n").find(|text| !text.trim_start().starts_with('#'))?;
            Some(first_sentence(paragraph))
        };
        let source = || {
            let source = self.text("src/lib.rs").or_else(|| self.text("src/main.rs"))?;
            Some(first_sentence(source.lines().next()?.strip_prefix("//! ")?))
        };
        described().or_else(readme).or_else(source).unwrap_or_default()
    }
}

fn first_sentence(paragraph: &str) -> String {
    let line = paragraph.trim().replace('\n', " ");
    line.split_once(". ").map_or(line.as_str(), |(sentence, _)| sentence).trim_end_matches('.').to_owned()
}

/// The examples as a table, numbered from 1 if a person is to choose.
pub(super) fn table(terminal: Terminal, numbered: bool) -> String {
    let width = EXAMPLES.iter().map(|example| example.name.len()).max().unwrap_or_default();
    let mut table = String::new();
    for (example, number) in Example::all().into_iter().zip(1..) {
        let number = if numbered { format!("{number:>3}  ") } else { "    ".to_owned() };
        let padding = " ".repeat(width - example.name.len());
        let default = if example.name == DEFAULT { " (the default)" } else { "" };
        let room = terminal.width().saturating_sub(number.len() + width + 2 + default.len());
        let summary = if terminal.is_interactive() { cut(&example.summary(), room) } else { example.summary() };
        let _ = writeln!(table, "{number}{}{padding}  {summary}{default}", terminal.cyan(example.name));
    }
    table
}

/// A line that fits into this many columns; if it has to be cut, between words.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let start: String = line.chars().take(columns.saturating_sub(1)).collect();
    let words = start.rsplit_once(' ').map_or(start.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end_matches([',', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_embedded_whole_and_has_a_line() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        there.sort();
        assert_eq!(EXAMPLES.iter().map(|example| example.name).collect::<Vec<_>>(), there);
        for example in EXAMPLES {
            let summary = example.summary();
            // it becomes the description of the new crate, and the registry takes a hundred
            assert!(summary.len() > 10 && summary.len() <= 100, "{}: {summary:?}", example.name);
            assert!(example.text("Cargo.toml").is_some(), "{}", example.name);
            assert!(!example.files.iter().any(|(path, _)| path.starts_with("target")), "{}", example.name);
        }
        assert_eq!(Example::all()[0].name, DEFAULT);
    }

    #[test]
    fn misspelt_names_get_a_suggestion() {
        let Err(failure) = Example::named("nots") else { panic!("there is no such example") };
        assert!(format!("{failure:?}").contains("did you mean `notes`?"), "{failure:?}");
        let Err(failure) = Example::named("zzzzzzzzz") else { panic!("there is no such example") };
        assert!(format!("{failure:?}").contains("cargo mcp new --list"), "{failure:?}");
    }

    #[test]
    fn long_lines_are_cut_between_words() {
        assert_eq!(cut("a form, a branch", 16), "a form, a branch");
        assert_eq!(cut("a form, a branch", 15), "a form, a…");
        assert_eq!(cut("a form, a branch", 9), "a form…");
    }

    #[test]
    fn sentences_end_at_their_full_stop() {
        assert_eq!(first_sentence("Every feature,\nover stdio. And more."), "Every feature, over stdio");
        assert_eq!(first_sentence("A notebook."), "A notebook");
    }
}
