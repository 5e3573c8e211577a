//! [`assert_contract!`](crate::testing::assert_contract!): a server against the contract that is checked in.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::error::PAGE;
use crate::lint::{self, Finding, LintOptions};
use crate::server::Server;
use crate::surface::difference::{Class, Difference};
use crate::surface::{Surface, compare};

/// The file, unless the options name another.
const FILE: &str = "contract.json";

/// The environment variable that makes the assertion write the file.
const UPDATE: &str = "UPDATE_CONTRACT";

/// Options of [`assert_contract!`](crate::testing::assert_contract!): another file, and what to do about
/// [findings](crate::lint).
///
/// ```
/// use mcp_runtime::lint::{LintOptions, Rule};
/// use mcp_runtime::testing::ContractOptions;
///
/// let options = ContractOptions::new()
///     .path("contracts/public.json")
///     .deny_lints()
///     .lints(LintOptions::new().allow(Rule::MissingDescription, "tool add"));
/// ```
#[derive(Debug, Clone)]
pub struct ContractOptions {
    path: PathBuf,
    deny_lints: bool,
    lints: LintOptions,
}

impl Default for ContractOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ContractOptions {
    /// The contract is `contract.json`, and findings are printed.
    pub fn new() -> Self {
        ContractOptions { path: FILE.into(), deny_lints: false, lints: LintOptions::new() }
    }

    /// Sets the file. A relative path starts at the root of the crate that asserts.
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = path.into();
        self
    }

    /// Fails on findings, instead of printing them.
    pub fn deny_lints(mut self) -> Self {
        self.deny_lints = true;
        self
    }

    /// Sets which findings to report.
    pub fn lints(mut self, options: LintOptions) -> Self {
        self.lints = options;
        self
    }
}

impl From<&str> for ContractOptions {
    /// Options with this file.
    fn from(path: &str) -> Self {
        Self::new().path(path)
    }
}

/// The text of a server's contract: the contents of `contract.json`.
///
/// [`assert_contract!`](crate::testing::assert_contract!) reads and writes the file; this is for programs that show or
/// compare contracts themselves.
pub fn contract_of(server: &Server) -> String {
    server.surface().to_json()
}

/// The function behind [`assert_contract!`](crate::testing::assert_contract!).
#[doc(hidden)]
#[track_caller]
pub fn __assert_contract(server: &Server, root: &str, options: impl Into<ContractOptions>) {
    let options = options.into();
    let update = env::var_os(UPDATE).is_some_and(|value| !value.is_empty() && value != "0");
    let Verdict { notes, failures } = judge(server, Path::new(root), &options, update);
    if !notes.is_empty() {
        // Standard output belongs to the protocol; cargo shows either only if a test fails, or with `--nocapture`.
        eprintln!("{}", notes.join("\n\n"));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// What comes of an assertion: texts to print, and texts to fail with.
#[derive(Debug, Default)]
struct Verdict {
    notes: Vec<String>,
    failures: Vec<String>,
}

fn judge(server: &Server, root: &Path, options: &ContractOptions, update: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let path = root.join(&options.path);
    let (name, current) = (options.path.display(), server.surface());
    let recorded = if update { write(&path, &current).map(|()| None) } else { read(&path).map(Some) };
    match recorded {
        Ok(None) => verdict.notes.push(format!("wrote {name}: check it in")),
        Ok(Some(recorded)) => verdict.compare(&compare(&recorded, &current), &name.to_string()),
        Err(problem) => verdict.failures.push(format!("{name}: {problem}")),
    }
    verdict.lint(&server.lint_with(&options.lints), options.deny_lints);
    verdict
}

fn write(path: &Path, current: &Surface) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let text = current.to_json();
    let is_current = fs::read_to_string(path).is_ok_and(|old| old == text);
    let written = if is_current { Ok(()) } else { folder.and_then(|()| fs::write(path, text)) };
    written.map_err(|why| format!("cannot be written: {why}"))
}

fn read(path: &Path) -> Result<Surface, String> {
    let text = fs::read_to_string(path).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => format!(
            "the file is missing. It records what clients rely on; create it, and check it in:\n    {UPDATE}=1 cargo test"
        ),
        _ => format!("cannot be read: {why}"),
    })?;
    Surface::from_json(&text)
        .map_err(|why| format!("not a contract: {why}. Restore the file, or write it anew:\n    {UPDATE}=1 cargo test"))
}

impl Verdict {
    fn compare(&mut self, differences: &[Difference], file: &str) {
        let of = |class: Class| -> Vec<String> {
            let of_class = differences.iter().filter(|difference| difference.class == class);
            of_class.map(|difference| format!("  {difference}")).collect()
        };
        let (breaking, additive, cosmetic) = (of(Class::Breaking), of(Class::Additive), of(Class::Cosmetic));
        if !breaking.is_empty() {
            self.failures.push(format!(
                "clients that work today will fail. Breaking:\n{}\nIf that is meant, publish a new major version and \
                 record it:\n    {UPDATE}=1 cargo test",
                breaking.join("\n")
            ));
        }
        if !additive.is_empty() {
            self.failures.push(format!(
                "the server offers more than {file} says. Additive:\n{}\nRecord it:\n    {UPDATE}=1 cargo test",
                additive.join("\n")
            ));
        }
        if !cosmetic.is_empty() {
            let text = format!("texts or order differ from {file}. Cosmetic:\n{}", cosmetic.join("\n"));
            // Beside a failure they belong to the picture.
            if self.failures.is_empty() { &mut self.notes } else { &mut self.failures }.push(text);
        }
    }

    fn lint(&mut self, findings: &[Finding], deny: bool) {
        if findings.is_empty() {
            return;
        }
        let texts: Vec<String> = findings.iter().map(|finding| format!("  {finding}").replace('\n', "\n  ")).collect();
        let (texts, rule) = (texts.join("\n"), lint::section(findings));
        let text = format!("what models and clients may stumble over:\n{texts}\nsee {PAGE}#{rule}");
        if deny {
            let remedy = "If a finding is wanted, `LintOptions::allow` leaves it out.";
            self.failures.push(format!("{text}\n{remedy}"));
        } else {
            self.notes.push(text);
        }
    }
}
