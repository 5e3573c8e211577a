//! The sources of a crate as tokens: without comments, literals and test code, each with its line.

use std::path::Path;

/// A word or a punctuation mark, and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// One `.rs` file.
#[derive(Debug)]
pub(crate) struct Source {
    /// The crate's source folder, seen from the repository: `mcp-runtime/src`.
    root: String,
    /// The file, seen from `root`: `era/mod.rs`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// Whether its parent declares it as `#[cfg(test)] mod …;`.
    pub(crate) is_test: bool,
}

impl Source {
    /// The place a failure names.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}/{}:{line}", self.root, self.path)
    }

    /// `era/encode` of `era/encode/mod.rs`; empty for a file beside the folders.
    pub(crate) fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// The top-level module: the folder, or the file beside the folders.
    pub(crate) fn folder(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// The segments of its module after `crate`.
    pub(crate) fn module(&self) -> Vec<String> {
        let mut module: Vec<String> = self.path.trim_end_matches(".rs").split('/').map(String::from).collect();
        if module.last().is_some_and(|last| last == "mod") || module == ["lib"] {
            module.pop();
        }
        module
    }
}

/// Reads every `.rs` file below `root`, a path seen from the repository.
pub(crate) fn read(root: &str) -> Vec<Source> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository");
    let mut files = Vec::new();
    gather(&repository.join(root), "", &mut files);
    assert!(!files.is_empty(), "{root} holds no sources: has the crate moved?");
    sources(root, files)
}

fn gather(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            gather(&path, &format!("{prefix}{name}/"), files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((format!("{prefix}{name}"), std::fs::read_to_string(&path).expect("UTF-8")));
        }
    }
}

/// The sources of a crate from `(path, text)`.
pub(crate) fn sources(root: &str, mut files: Vec<(String, String)>) -> Vec<Source> {
    files.sort();
    let mut test_modules = Vec::new();
    let mut sources = Vec::new();
    for (path, text) in files {
        let (tokens, declared) = without_tests(&tokens(&text));
        let source = Source { root: root.to_owned(), path, text, tokens, is_test: false };
        test_modules.extend(declared.into_iter().map(|name| [source.module(), vec![name]].concat()));
        sources.push(source);
    }
    for source in &mut sources {
        source.is_test = test_modules.iter().any(|test| source.module().starts_with(test));
    }
    sources
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut line, mut rest) = (Vec::new(), 1, text);
    while !rest.is_empty() {
        let (length, counts) = lexeme(rest);
        let (lexeme, after) = rest.split_at(length);
        if counts {
            tokens.push(Token { text: lexeme.to_owned(), line });
        }
        line += lexeme.matches('\n').count();
        rest = after;
    }
    tokens
}

/// The length of the first lexeme, and whether it is a token: space, comments and literals are not.
fn lexeme(text: &str) -> (usize, bool) {
    const MARKS: [&str; 9] = ["::", "=>", "==", "!=", "<=", ">=", "->", "&&", "||"];
    let first = text.chars().next().expect("a lexeme of nothing");
    if text.starts_with("//") {
        return (text.find('\n').unwrap_or(text.len()), false);
    }
    if text.starts_with("/*") {
        return (block_comment(text), false);
    }
    if first.is_whitespace() {
        return (first.len_utf8(), false);
    }
    if first == '"' {
        return (quoted(text, '"'), false);
    }
    if first == '\'' {
        return (quote(text), false);
    }
    if is_word(first) {
        let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
        return match raw_string(text, word) {
            Some(length) => (length, false),
            None => (word, true),
        };
    }
    let mark = MARKS.iter().find(|mark| text.starts_with(**mark));
    (mark.map_or(first.len_utf8(), |mark| mark.len()), true)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let step = if text[at..].starts_with("/*") {
            depth += 1;
            2
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            2
        } else {
            text[at..].chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal between two marks, with escapes.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of a character, or of a lifetime.
fn quote(text: &str) -> usize {
    let mut after = text.char_indices().skip(1);
    let (second, third) = (after.next(), after.next());
    match (second, third) {
        (Some((_, '\\')), _) | (_, Some((_, '\''))) => quoted(text, '\''),
        _ => 1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1),
    }
}

/// The length of `r"…"`, `br#"…"#` and their like, whose prefix ends at `word`.
fn raw_string(text: &str, word: usize) -> Option<usize> {
    let hashes = text[word..].find(|c| c != '#')?;
    let start = word + hashes + 1;
    if !matches!(&text[..word], "r" | "br" | "cr") || !text[word + hashes..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()))
}

/// Drops every item under `#[cfg(test)]`; also returns the modules among them that are files.
fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let length = if is_test_attribute(rest) { item(rest) } else { 0 };
        if length == 0 {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let file = rest[..length].windows(3).find(|three| three[0].text == "mod" && three[2].text == ";");
        modules.extend(file.map(|three| three[1].text.clone()));
        at += length;
    }
    (kept, modules)
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let starts = |start: &[&str]| tokens.len() > start.len() && tokens.iter().zip(start).all(|(t, s)| t.text == *s);
    starts(&["#", "[", "cfg", "(", "test", ")"]) || starts(&["#", "[", "cfg", "(", "all", "(", "test", ","])
}

/// The number of tokens of an item with its attributes: up to its `;` or its closing brace.
fn item(tokens: &[Token]) -> usize {
    let (mut depth, mut in_attribute) = (0_usize, false);
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "#" if depth == 0 => in_attribute = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at,
            "}" if depth == 1 && !in_attribute => return at + 1,
            ")" | "]" | "}" => {
                depth -= 1;
                in_attribute &= depth > 0;
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let kept = without_tests(&tokens(text)).0;
        kept.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_not_tokens() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f"), "a f");
        assert_eq!(words(r#"a("b \" crate::c", 'd', '"', '\'', &'e f)"#), "a ( , , , , & f )");
        assert_eq!(words("r#\"a \" crate::b\"# c r#type br\"\\\" d"), "c r # type d");
        assert_eq!(words("/// crate::a\n//! crate::b\nc::d"), "c :: d");
    }

    #[test]
    fn tokens_know_their_line() {
        let lines: Vec<usize> = tokens("a\n/* \n */ b \"\n\" c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn test_code_is_dropped() {
        assert_eq!(words("a; #[cfg(test)] #[expect(dead_code)] mod tests { fn f() { g() } } b"), "a ; b");
        assert_eq!(
            words("impl A { #[cfg(test)] fn f(&self) -> (u8, [u8; 2]) { g() } fn h() {} }"),
            "impl A { fn h ( ) { } }"
        );
        assert_eq!(words("#[cfg(not(test))] a"), "# [ cfg ( not ( test ) ) ] a");
        let files = [("a/mod.rs", "#[cfg(test)]\nmod b;\nmod c;"), ("a/b.rs", ""), ("a/c.rs", ""), ("b.rs", "")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let tests: Vec<String> = sources("src", files.into())
            .into_iter()
            .filter(|source| source.is_test)
            .map(|source| source.path)
            .collect();
        assert_eq!(tests, ["a/b.rs"]);
    }
}
