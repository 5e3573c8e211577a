//! A server to edit, and `cargo mcp dev` running it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env;

/// For everything that takes a build; other processes build at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// For the end of the supervisor and its server: the bounds of both are a few seconds, the rest is for a busy machine.
#[cfg(unix)]
const ENDING: Duration = Duration::from_secs(60);

/// A crate with a server in a temporary directory.
pub(crate) struct Fixture {
    pub(crate) directory: PathBuf,
    name: String,
}

impl Fixture {
    /// The crate shares the target directory and the lock file of this workspace, so that little is built anew.
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("dev-{name}-{}", std::process::id());
        // Not below the target directory, which is not watched.
        let directory = std::env::temp_dir().join(&name);
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        fs::create_dir_all(directory.join("src")).expect("a directory");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             mcp-runtime = {{ path = '{}', features = [\"cli\", \"http\"] }}\n\
             tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n\
             [workspace]\n\n[profile.dev]\ndebug = \"line-tables-only\"\n",
            workspace.join("mcp-runtime").display()
        );
        fs::write(directory.join("Cargo.toml"), manifest).expect("a manifest");
        fs::copy(workspace.join("Cargo.lock"), directory.join("Cargo.lock")).expect("a lock file");
        let fixture = Fixture { directory, name };
        fixture.write(1, "");
        fixture
    }

    /// Saves a version: its `version` tool says which it is; `more` is the code of more tools.
    pub(crate) fn write(&self, version: u32, more: &str) -> Instant {
        let also: String = more
            .split("fn ")
            .skip(1)
            .filter_map(|rest| rest.split('(').next())
            .fold(String::new(), |names, name| names + ", " + name);
        self.write_source(&format!(
            "use mcp_runtime::prelude::*;\n\n\
             /// Which version this is.\n#[tool(read_only)]\nfn version() -> u32 {{\n    {version}\n}}\n\n\
             /// Waits until a file exists.\n#[tool]\nasync fn wait(path: String) -> u32 {{\n    \
             std::fs::write(format!(\"{{path}}.entered\"), \"\").unwrap();\n    \
             while !std::path::Path::new(&path).exists() {{\n        \
             tokio::time::sleep(std::time::Duration::from_millis(10)).await;\n    }}\n    {version}\n}}\n\n\
             /// Ends the process.\n#[tool]\nfn crash() -> u32 {{\n    std::process::exit(7)\n}}\n\n\
             {more}\n\n\
             #[tokio::main]\nasync fn main() -> std::process::ExitCode {{\n    \
             Server::new(\"fixture\", \"0.1.0\").tools(tools![version, wait, crash{also}]).run().await\n}}\n"
        ))
    }

    /// Saves a source that does not compile.
    pub(crate) fn break_it(&self) {
        self.write_source("fn main() {\n    let count: u32 = \"three\";\n}\n");
    }

    fn write_source(&self, source: &str) -> Instant {
        fs::write(self.directory.join("src/main.rs"), source).expect("a source");
        Instant::now()
    }

    /// `cargo mcp dev` in the crate's directory.
    pub(crate) fn dev(&self, arguments: &[&str]) -> Dev {
        self.dev_read(arguments, true)
    }

    /// The same, with a client that reads nothing.
    #[cfg(unix)]
    pub(crate) fn dev_unread(&self, arguments: &[&str]) -> Dev {
        self.dev_read(arguments, false)
    }

    fn dev_read(&self, arguments: &[&str], reads: bool) -> Dev {
        let target = Path::new(env!("CARGO_BIN_EXE_cargo-mcp")).ancestors().nth(2).expect("a target directory");
        let mut child = env::without_package(&mut Command::new(env!("CARGO_BIN_EXE_cargo-mcp")))
            .args(["mcp", "dev"])
            .args(arguments)
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", target)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo-mcp starts");
        let (messages, notes) = (channel(), channel());
        let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let mut unread = Some(stdout);
        if let Some(stdout) = unread.take_if(|_| reads) {
            spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    messages.0.send(serde_json::from_str(&line).expect("standard output is JSON")).ok();
                }
            });
        }
        spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                eprintln!("  dev | {line}");
                notes.0.send(line).ok();
            }
        });
        Dev { stdin: child.stdin.take(), child, messages: messages.1, notes: notes.1, next: 100, _unread: unread }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).ok();
        // The executables of this crate are nobody else's.
        let debug = Path::new(env!("CARGO_BIN_EXE_cargo-mcp")).parent().expect("a directory");
        for directory in [debug.to_owned(), debug.join("deps"), debug.join("incremental"), debug.join(".fingerprint")] {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let ours = [self.name.clone(), self.name.replace('-', "_")];
                if ours.iter().any(|name| entry.file_name().to_string_lossy().starts_with(name)) {
                    fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path())).ok();
                }
            }
        }
    }
}

/// A running `cargo mcp dev`, and its client.
pub(crate) struct Dev {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    notes: Receiver<String>,
    next: u64,
    /// Open, and not read.
    _unread: Option<ChildStdout>,
}

impl Dev {
    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().expect("open"), "{message}").expect("cargo mcp dev reads");
    }

    /// The next message that is meant.
    pub(crate) fn receive(&self, meant: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect("a message in time");
            if meant(&message) {
                return message;
            }
        }
    }

    /// Sends a request, without waiting.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// The response to a request.
    pub(crate) fn response(&self, id: u64) -> Value {
        self.receive(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.response(id)
    }

    /// A line on standard error that contains the text.
    pub(crate) fn note(&self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.notes.recv_timeout(left).unwrap_or_else(|_| panic!("no `{text}` on standard error"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Closes standard input.
    pub(crate) fn close(mut self) -> Self {
        self.stdin = None;
        self
    }

    /// Closes standard input, and waits for the end.
    pub(crate) fn leave(mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().expect("an exit status")
    }

    #[cfg(unix)]
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(kill.is_ok_and(|status| status.success()));
        let end = Instant::now() + ENDING;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status;
            }
            assert!(Instant::now() < end, "cargo mcp dev is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Waits until a file exists, which a tool writes when it was called.
pub(crate) fn wait_for(file: &Path) {
    let end = Instant::now() + PATIENCE;
    while !file.exists() {
        assert!(Instant::now() < end, "no {}", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}
