//! The rules: each returns its violations, one sentence each, with the place and what to do.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Edge, between_files, between_folders, components};
use crate::source::{Source, Token};

/// A top-level module and the modules it may name.
pub(crate) struct Folder {
    pub(crate) name: &'static str,
    /// Why it imports these.
    pub(crate) why: &'static str,
    /// The modules, between spaces.
    pub(crate) imports: &'static str,
}

impl Folder {
    fn imports(&self) -> impl Iterator<Item = &'static str> {
        self.imports.split_whitespace()
    }
}

/// Every import is in `table`, in the direction of `order`, and every entry of `table` is used.
///
/// Each line of `order` may name the lines below it. `heart` is one of its lines, whose modules may name each other.
pub(crate) fn imports(edges: &[Edge<'_>], order: &[&[&str]], heart: &[&str], table: &[Folder]) -> Vec<String> {
    let line_of = |folder: &str| order.iter().position(|line| line.contains(&folder));
    let in_order = |from: &str, to: &str| line_of(from) < line_of(to) || (heart.contains(&from) && heart.contains(&to));
    let entry = |name: &str| table.iter().find(|folder| folder.name == name);
    let mut violations = Vec::new();
    for Edge { from, line, to, item, .. } in edges.iter().filter(|edge| edge.from.folder() != edge.to.folder()) {
        let (at, from, to) = (from.at(*line), from.folder(), to.folder());
        let unplaced = [from, to].into_iter().find(|folder| line_of(folder).is_none());
        violations.extend(if let Some(folder) = unplaced {
            Some(format!("{at}: {from} → {to} (`{item}`): `{folder}` is not in ORDER. Give it a line there."))
        } else if !in_order(from, to) {
            Some(format!(
                "{at}: {from} → {to} (`{item}`) runs against ORDER, where `{to}` comes before `{from}`. \
                 Move the item to `{from}` or below, or let the caller pass it."
            ))
        } else if !entry(from).is_some_and(|folder| folder.imports().any(|import| import == to)) {
            let why = entry(from).map_or("none yet", |folder| folder.why);
            Some(format!(
                "{at}: {from} → {to} (`{item}`) is not in FOLDERS. If it fits the reason of `{from}` ({why}), \
                 add \"{to}\" there; else do without."
            ))
        } else {
            None
        });
    }
    let used = between_folders(edges);
    for folder in table {
        let name = folder.name;
        let unused = folder.imports().filter(|to| !used.get(name).is_some_and(|used| used.contains(*to)));
        violations.extend(
            unused.map(|to| {
                format!("FOLDERS allows {name} → {to}, which no file uses any more: remove it from the table.")
            }),
        );
    }
    violations
}

/// Cycles lie within `heart`, or within one folder and in `listed`.
pub(crate) fn cycles(edges: &[Edge<'_>], heart: &[&str], most: usize, listed: &[&[&str]]) -> Vec<String> {
    [cycles_of_files(edges, heart, most, listed), cycles_of_folders(edges, heart)].concat()
}

/// One cycle of files is within `heart`, of at most `most` files; every other is within one folder and in `listed`.
fn cycles_of_files(edges: &[Edge<'_>], heart: &[&str], most: usize, listed: &[&[&str]]) -> Vec<String> {
    let folder = |file: &str| file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let mut violations = Vec::new();
    let mut across = 0;
    let mut left: Vec<BTreeSet<String>> =
        listed.iter().map(|files| files.iter().copied().map(String::from).collect()).collect();
    for cycle in components(&between_files(edges)) {
        let folders: BTreeSet<String> = cycle.iter().map(|file| folder(file)).collect();
        let known = left.iter().position(|listed| *listed == cycle);
        if let Some(known) = known {
            left.remove(known);
        }
        let within_heart = folders.iter().all(|folder| heart.contains(&folder.as_str()));
        across += usize::from(folders.len() > 1 && within_heart);
        let complaint = if folders.len() == 1 && known.is_none() {
            "A new cycle of files, or one with other members. Break it, or list its files in CYCLES.".to_owned()
        } else if folders.len() > 1 && !within_heart {
            "A cycle across folders, not all of them in HEART. Move the item that closes it down to the folder that both \
             may import."
                .to_owned()
        } else if folders.len() > 1 && cycle.len() > most {
            format!("The heart's cycle has {} files, {most} are allowed. Break one of these edges.", cycle.len())
        } else if folders.len() > 1 && across > 1 {
            "A second cycle across the heart's folders. Break one of these edges.".to_owned()
        } else {
            continue;
        };
        let inside = |edge: &&Edge<'_>| cycle.contains(&edge.from.path) && cycle.contains(&edge.to.path);
        let crossing = |edge: &&Edge<'_>| folders.len() == 1 || edge.from.folder() != edge.to.folder();
        violations.push(complaint + &edge_list(edges.iter().filter(inside).filter(crossing)));
    }
    violations.extend(left.iter().map(|files| {
        format!("CYCLES lists {}, which is no longer a cycle of exactly these files: change or remove it.", list(files))
    }));
    violations
}

/// Cycles of folders lie within `heart`.
fn cycles_of_folders(edges: &[Edge<'_>], heart: &[&str]) -> Vec<String> {
    let mut violations = Vec::new();
    for cycle in components(&between_folders(edges)) {
        if cycle.iter().any(|folder| !heart.contains(&folder.as_str())) {
            let inside = |edge: &&Edge<'_>| {
                let (from, to) = (edge.from.folder(), edge.to.folder());
                from != to && cycle.contains(from) && cycle.contains(to)
            };
            let complaint = format!("The folders {} import each other; only those of HEART may.", list(&cycle));
            violations.push(complaint + &edge_list(edges.iter().filter(inside)));
        }
    }
    violations
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn edge_list<'a>(edges: impl Iterator<Item = &'a Edge<'a>>) -> String {
    let line = |edge: &Edge<'_>| format!("\n      {}: → {} (`{}`)", edge.from.at(edge.line), edge.to.path, edge.item);
    edges.map(line).collect::<Vec<_>>().concat()
}

/// Folders one can take in at a glance, files that say what they own, and no long ones but `long`.
pub(crate) fn shape(sources: &[Source], files: usize, lines: usize, long: &[(&str, &str)]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut directories = BTreeMap::<&str, usize>::new();
    for source in sources {
        *directories.entry(source.directory()).or_default() += usize::from(!source.is_test);
        if !source.text.starts_with("//!") {
            violations
                .push(format!("{}: the file does not begin with `//!`. Say in one line what it owns.", source.at(1)));
        }
        let count = source.text.lines().count();
        let at = source.at(count);
        match long.iter().any(|(path, _)| at.starts_with(&format!("{path}:"))) {
            false if count > lines => violations.push(format!("{at}: more than {lines} lines. Split the file.")),
            true if count <= lines => violations.push(format!("{at}: not a long file any more. Remove it from LONG.")),
            _ => {}
        }
    }
    for (directory, count) in directories.into_iter().filter(|(_, count)| *count > files) {
        let example = sources.iter().find(|source| source.directory() == directory).expect("a counted file");
        violations.push(format!(
            "{}: `src/{directory}` holds {count} files, {files} are allowed. Make a folder of those that belong together.",
            example.at(1)
        ));
    }
    violations
}

/// No code asks which revision it serves, but that below the paths `may`, and `known`: a file, its words, and why.
pub(crate) fn revisions(sources: &[Source], may: &[&str], known: &[(&str, &str, &str)]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut left = known.to_vec();
    let asking = |source: &&Source| !source.is_test && !may.iter().any(|may| source.path.starts_with(may));
    for source in sources.iter().filter(asking) {
        for at in 0..source.tokens.len() {
            let Some(words) = question(&source.tokens, at) else { continue };
            let is_known = |(file, known, _): &(&str, &str, &str)| *file == source.path && *known == words;
            left.retain(|entry| !is_known(entry));
            if !known.iter().any(is_known) {
                violations.push(format!(
                    "{}: `{words}` asks for a revision. Give the question a name in `era/features.rs`, and ask that.",
                    source.at(source.tokens[at].line)
                ));
            }
        }
    }
    violations.extend(
        left.iter().map(|(file, words, _)| format!("KNOWN lists `{words}` in {file}, which is gone: remove it.")),
    );
    violations
}

/// The words at `at` that ask for a revision.
fn question(tokens: &[Token], at: usize) -> Option<String> {
    const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];
    let token = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let before = |back: usize| at.checked_sub(back).map_or("", token);
    let (word, parent) = (token(at), before(2));
    if word == "is_modern" && before(1) == "." {
        return Some(".is_modern".to_owned());
    }
    // Names that would hide from the rest of this function.
    if word == "Revision" && token(at + 1) == "as" {
        return Some("Revision as".to_owned());
    }
    if word == "Revision" && token(at + 1) == "::" && matches!(token(at + 2), "{" | "*") {
        return Some(format!("Revision::{}", token(at + 2)));
    }
    if before(1) != "::" {
        return None;
    }
    let is_dated =
        word.starts_with("V20") || (parent == "Revision" && matches!(word, "LEGACY" | "MODERN" | "is_modern"));
    // The token before `crate::protocol::Revision::LATEST`.
    let mut start = at;
    while start >= 2 && token(start - 1) == "::" {
        start -= 2;
    }
    while start >= 1 && token(start - 1) == "&" {
        start -= 1;
    }
    let left = start.checked_sub(1).map_or("", token);
    let is_constant = parent == "Revision" && word.chars().all(|c| c.is_uppercase() || c == '_');
    let is_compared = COMPARISONS.contains(&left) || COMPARISONS.contains(&token(at + 1)) || token(at + 1) == "=>";
    (is_dated || (is_constant && is_compared)).then(|| format!("{parent}::{word}"))
}

/// No two files of one directory declare a type of the same name.
pub(crate) fn names(sources: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut declared = BTreeMap::<(&str, &str), (&Source, usize)>::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        for (name, line) in types(&source.tokens) {
            let (first, first_line) = *declared.entry((source.directory(), name)).or_insert((source, line));
            // Within one file, the second is for another platform or feature.
            if first.path != source.path {
                violations.push(format!(
                    "{}: `{name}` is also declared at {}. Give one of them a name of its own.",
                    source.at(line),
                    first.at(first_line)
                ));
            }
        }
    }
    violations
}

/// The types declared outside of any braces.
fn types(tokens: &[Token]) -> Vec<(&str, usize)> {
    let (mut depth, mut types) = (0_usize, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "struct" | "enum" | "union" | "trait" | "type" if depth == 0 => {
                types.extend(tokens.get(at + 1).map(|name| (name.text.as_str(), name.line)));
            }
            _ => {}
        }
    }
    types
}
