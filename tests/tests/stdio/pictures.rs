//! The terminals in `docs/book/pictures`, which `tests/pictures/take.py` draws, show what the commands print today.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use mcp_tests::process::without_package;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");
/// The width of a cell in the pictures.
const CELL: f64 = 12.2;

/// The program of an example, which a test of the workspace has built already.
fn example(name: &str) -> PathBuf {
    let program = Path::new(MISBEHAVING).with_file_name(name);
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        let built = without_package(&mut cargo).args(["build", "-q", "-p", name]).status().unwrap();
        assert!(built.success() && program.exists(), "build {} first", program.display());
    }
    program
}

/// A terminal: the end of the person, and that of the program.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let path = ptsname(&person, Vec::new()).unwrap();
    let program = File::options().read(true).write(true).open(OsStr::from_bytes(path.to_bytes())).unwrap();
    (person.into(), program)
}

/// What a person sees who starts an example, and answers these questions.
fn seen(name: &str, arguments: &[&str], answers: &[(&str, &str)]) -> String {
    let program = example(name);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    std::fs::create_dir_all(&home).unwrap();
    let (mut person, end) = terminal();
    let mut command = Command::new(&program);
    // As it is typed, where it is in the path.
    command.arg0(name);
    command.args(arguments).current_dir(&home).env_clear().env("PATH", &home).env("HOME", &home);
    command.env("TERM", "xterm-256color").env("COLUMNS", "80").env("LANG", "C.UTF-8");
    command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
    let mut child = command.spawn().unwrap();
    drop(command); // with its copies of the terminal, so that the output ends
    let _watch = kill_later(child.id());
    let (mut output, mut chunk, mut answers) = (Vec::new(), [0; 4096], answers.iter().peekable());
    // At the end, Linux reports an error.
    while let Ok(count @ 1..) = person.read(&mut chunk) {
        output.extend_from_slice(&chunk[..count]);
        if let Some((_, answer)) = answers.next_if(|(question, _)| plain(&output).ends_with(question)) {
            writeln!(person, "{answer}").unwrap();
        }
    }
    child.wait().unwrap();
    let folder = program.parent().unwrap().to_str().unwrap();
    plain(&output).replace(folder, "/home/you/mcp/target/debug")
}

/// Kills a process that waits for an answer to another question; not if what is returned is dropped before.
fn kill_later(id: u32) -> mpsc::Sender<()> {
    let (watch, over) = mpsc::channel();
    std::thread::spawn(move || {
        if over.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
        }
    });
    watch
}

/// The text that stays: without colours, and without lines that were erased.
fn plain(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output).replace("\r\n", "\n");
    let lines = text.split('\n').map(|line| line.rsplit("\r\u{1b}[2K").next().unwrap_or_default());
    let mut left = String::new();
    for part in lines.collect::<Vec<_>>().join("\n").split('\u{1b}') {
        let part = if left.is_empty() && !part.starts_with('[') { part } else { after_escape(part) };
        left.push_str(part);
    }
    left
}

/// What follows an escape sequence: `[`, numbers, and a letter.
fn after_escape(part: &str) -> &str {
    let Some(rest) = part.strip_prefix('[') else { return part };
    rest.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic()).get(1..).unwrap_or_default()
}

/// The lines of a picture, from the places of its texts.
fn drawn(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/pictures").join(name).with_extension("svg");
    let picture = std::fs::read_to_string(path).unwrap();
    let mut lines: BTreeMap<u64, String> = BTreeMap::new();
    for element in picture.split("<text ").skip(1).filter_map(|element| element.split("</text>").next()) {
        let (attributes, text) = element.split_once('>').unwrap();
        if attributes.contains("-title\"") {
            continue;
        }
        let number = |key: &str| -> f64 {
            let value = attributes.split_once(&format!(" {key}=\"")).unwrap().1;
            value.split('"').next().unwrap().parse().unwrap()
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places on a page")]
        let (line, column) = ((number("y") * 10.0) as u64, (number("x") / CELL).round() as usize);
        let line = lines.entry(line).or_default();
        let missing = column.saturating_sub(line.chars().count());
        line.push_str(&" ".repeat(missing));
        line.push_str(&decoded(text));
    }
    lines.into_values().collect::<Vec<_>>().join("\n")
}

fn decoded(text: &str) -> String {
    let pairs = [("&#160;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
    pairs.into_iter().fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter))
}

/// Compares words: where lines are wrapped is up to the program that draws.
#[track_caller]
fn shows(picture: &str, printed: &str) {
    let (drawn, printed) = (drawn(picture), printed.replace('\u{a0}', " "));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&drawn).len() > 100, "{drawn}");
    assert_eq!(words(&drawn), words(&printed), "draw docs/book/pictures anew with tests/pictures/take.py");
}

#[test]
fn page_of_a_server() {
    shows("page", &format!("$ notes\n{}", seen("notes", &["--db", ":memory:"], &[])));
}

#[test]
fn call_that_asks() {
    let answers = [
        ("guests (integer): ", "2"),
        ("day (date): ", "2026-12-01"),
        ("seating (optional): ", "1"),
        ("yes (boolean): ", "yes"),
    ];
    shows(
        "call",
        &format!("$ booking call book name=Ada\n{}", seen("booking", &["call", "book", "name=Ada"], &answers)),
    );
}

/// A command of the notebook with its output.
fn notes(line: &str) -> String {
    let arguments: Vec<&str> = ["--db", ":memory:"].into_iter().chain(line.split(' ')).collect();
    format!("$ notes {line}\n{}\n", seen("notes", &arguments, &[]))
}

/// Clients have their files elsewhere on macOS.
#[cfg(target_os = "linux")]
#[test]
fn installation() {
    shows("install", &(notes("install --list") + &notes("install zed --dry-run")));
}

#[test]
fn mistakes() {
    let lines = ["call serach query=milk", "call search limit=many", "call search limt=3"];
    shows("errors", &lines.map(notes).concat());
}
