//! Which file names which: `use` trees and paths in code, followed through re-exports to the file that owns the item.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, Token};

/// These files gather items of all folders for users, macros and the fuzzer: they stand outside the graph.
const EXEMPT: [&str; 5] = ["lib.rs", "macros.rs", "private.rs", "fuzzing.rs", "fuzzing/token.rs"];

/// The segments of a module or an item after `crate`.
type Segments = Vec<String>;

/// One file names an item of another.
#[derive(Debug)]
pub(crate) struct Edge<'a> {
    pub(crate) from: &'a Source,
    pub(crate) line: usize,
    pub(crate) to: &'a Source,
    /// The path as the file names it, from `crate`.
    pub(crate) item: String,
    /// A re-export that its file does not use itself. It ties folders, but no files: its users are tied to the owner.
    only_passes_on: bool,
}

/// A path in the code of one file.
struct Named {
    path: Segments,
    line: usize,
    /// For a `use`: the module it stands in, and the name it binds.
    binds: Option<Segments>,
    public: bool,
}

/// The paths of one file, and the words of its code outside of `use` and `mod`.
#[derive(Default)]
struct Read<'a> {
    named: Vec<Named>,
    words: BTreeSet<&'a str>,
}

/// The modules of a crate that are files.
type Files<'a> = BTreeMap<Segments, &'a Source>;

/// Every edge of a crate, in the order of its files.
pub(crate) fn edges(sources: &[Source]) -> Vec<Edge<'_>> {
    let sources = || sources.iter().filter(|source| !source.is_test);
    let files: Files<'_> = sources().map(|source| (source.module(), source)).collect();
    let read: Vec<_> = sources().map(|source| (source, Reader::new(source, &files).read())).collect();
    let public = read.iter().flat_map(|(_, read)| &read.named).filter(|named| named.public);
    let passed_on = public.filter_map(|named| Some((named.binds.clone()?, named.path.clone()))).collect();

    let mut edges = Vec::new();
    for (from, read) in read.into_iter().filter(|(source, _)| !EXEMPT.contains(&source.path.as_str())) {
        for named in read.named {
            let to = owner(&files, &passed_on, &named.path);
            if to.path == from.path || EXEMPT.contains(&to.path.as_str()) {
                continue;
            }
            let name = named.binds.as_ref().and_then(|binds| binds.last());
            let only_passes_on = named.public && !name.is_some_and(|name| read.words.contains(name.as_str()));
            let item = format!("crate::{}", named.path.join("::"));
            edges.push(Edge { from, line: named.line, to, item, only_passes_on });
        }
    }
    edges
}

/// The edges between files, as the cycles see them.
pub(crate) fn between_files(edges: &[Edge<'_>]) -> BTreeMap<String, BTreeSet<String>> {
    graph(edges.iter().filter(|edge| !edge.only_passes_on).map(|edge| (edge.from.path.as_str(), edge.to.path.as_str())))
}

/// The edges between top-level modules.
pub(crate) fn between_folders(edges: &[Edge<'_>]) -> BTreeMap<String, BTreeSet<String>> {
    graph(edges.iter().map(|edge| (edge.from.folder(), edge.to.folder())).filter(|(from, to)| from != to))
}

fn graph<'a>(edges: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut graph = BTreeMap::<String, BTreeSet<String>>::new();
    for (from, to) in edges {
        graph.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    graph
}

/// The strongly connected components of two nodes and more, the largest first.
pub(crate) fn components(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph.keys().map(|node| (node, reachable(graph, node))).collect();
    let mut components = BTreeSet::new();
    for (node, reached) in &reach {
        let mutual = reached.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(*node)));
        let component: BTreeSet<String> = mutual.map(|other| (*other).clone()).collect();
        if component.len() > 1 {
            components.insert(component);
        }
    }
    let mut components: Vec<_> = components.into_iter().collect();
    components.sort_by_key(|component| std::cmp::Reverse(component.len()));
    components
}

fn reachable<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, start: &String) -> BTreeSet<&'a String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(node) = open.pop() {
        for next in graph.get(node).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The file that holds an item: re-exports are followed, then the longest known module counts.
fn owner<'a>(files: &Files<'a>, passed_on: &BTreeMap<Segments, Segments>, path: &[String]) -> &'a Source {
    let mut path = path.to_vec();
    // Two modules may pass on each other's names: no item is passed on more often than this.
    for _ in 0..8 {
        let next = (1..=path.len()).rev().find_map(|n| Some((n, passed_on.get(&path[..n])?)));
        match next {
            Some((n, target)) if target[..] != path[..n] => path = [&target[..], &path[n..]].concat(),
            _ => break,
        }
    }
    let file = (0..=path.len()).rev().find_map(|n| files.get(&path[..n]));
    file.expect("a crate has a `lib.rs`")
}

/// Reads the paths of one file.
struct Reader<'a> {
    tokens: &'a [Token],
    files: &'a Files<'a>,
    at: usize,
    /// The module of the code at `at`: the file's, or one in its braces.
    scope: Segments,
    /// What each open brace added to `scope`.
    braces: Vec<usize>,
    read: Read<'a>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source, files: &'a Files<'a>) -> Self {
        let (scope, braces) = (source.module(), Vec::new());
        Self { tokens: &source.tokens, files, at: 0, scope, braces, read: Read::default() }
    }

    /// The token `ahead` of this one; empty after the last.
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| &token.text)
    }

    fn behind(&self) -> &'a str {
        self.at.checked_sub(1).map_or("", |at| &self.tokens[at].text)
    }

    fn read(mut self) -> Read<'a> {
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "mod" if self.peek(2) == "{" => {
                    self.scope.push(self.peek(1).to_owned());
                    self.braces.push(1);
                    self.at += 3;
                }
                "{" => {
                    self.braces.push(0);
                    self.at += 1;
                }
                "}" => {
                    let added = self.braces.pop().unwrap_or_default();
                    self.scope.truncate(self.scope.len() - added);
                    self.at += 1;
                }
                // `use<'a>` is a bound.
                "use" if self.peek(1) != "<" => {
                    let public = matches!(self.behind(), "pub" | ")");
                    self.at += 1;
                    self.tree(&[], public);
                }
                _ if self.peek(1) == "::" && self.behind() != "::" => self.path(),
                "mod" => self.at += 2,
                word => {
                    self.read.words.insert(word);
                    self.at += 1;
                }
            }
        }
        self.read
    }

    /// A path in code: `crate::era::encode`.
    fn path(&mut self) {
        let line = self.tokens[self.at].line;
        let mut path = vec![self.peek(0).to_owned()];
        self.read.words.insert(self.peek(0));
        self.at += 1;
        while self.peek(0) == "::" && self.peek(1).starts_with(|c: char| c.is_alphabetic() || c == '_') {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        self.add(&path, line, None, false);
    }

    /// A `use` tree, or a branch of it below `prefix`.
    fn tree(&mut self, prefix: &[String], public: bool) {
        let mut path = prefix.to_vec();
        loop {
            let Some(token) = self.tokens.get(self.at) else { return };
            self.at += 1;
            match token.text.as_str() {
                "{" => {
                    while !matches!(self.peek(0), "}" | "") {
                        self.tree(&path, public);
                        self.at += usize::from(self.peek(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "*" => return self.add(&path, token.line, None, public),
                // A leading `::`: an external crate.
                "::" => path.push(String::new()),
                "self" if !path.is_empty() => {}
                word => path.push(word.to_owned()),
            }
            match self.peek(0) {
                "::" => self.at += 1,
                "as" => {
                    let alias = self.peek(1).to_owned();
                    self.at += 2;
                    return self.add(&path, token.line, Some(alias), public);
                }
                _ if token.text != "::" => return self.add(&path, token.line, path.last().cloned(), public),
                _ => {}
            }
        }
    }

    fn add(&mut self, path: &[String], line: usize, binds: Option<String>, public: bool) {
        let binds = binds.map(|name| [&self.scope[..], &[name]].concat());
        if let Some(path) = self.absolute(path) {
            self.read.named.push(Named { path, line, binds, public });
        }
    }

    /// The path from `crate`; `None` for another crate's, a type's or a local name's.
    fn absolute(&self, path: &[String]) -> Option<Segments> {
        let below = |scope: &[String], rest: &[String]| Some([scope, rest].concat());
        let child = || [&self.scope[..], &path[..1]].concat();
        match path.first()?.as_str() {
            "crate" => below(&[], &path[1..]),
            "self" => below(&self.scope, &path[1..]),
            "super" => {
                let up = path.iter().take_while(|segment| *segment == "super").count();
                below(&self.scope[..self.scope.len().checked_sub(up)?], &path[up..])
            }
            _ if self.files.contains_key(&child()) => below(&self.scope, path),
            // `use crate::era;` makes `era::encode` a path of this crate.
            first => {
                let binds = |named: &&Named| named.binds.as_ref().is_some_and(|b| b.last().is_some_and(|b| b == first));
                let module = self.read.named.iter().find(binds)?;
                self.files.contains_key(&module.path).then(|| [&module.path[..], &path[1..]].concat())
            }
        }
    }
}
