//! A server process, from the client's end of its pipes.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than any test takes on the slowest machine. Then the server is killed, and the test that
/// waits for it fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(2 * 60);

/// A command without what cargo has told the test about its own package: build scripts look at it, `ring`'s for one, and
/// everything above them would be built again.
pub fn without_package(command: &mut Command) -> &mut Command {
    let told = |name: &str| name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(|name| told(name)) {
        command.env_remove(name);
    }
    command
}

/// A running server and the two ends of its pipes.
#[derive(Debug)]
pub struct Process {
    child: Arc<Mutex<Child>>,
    id: u32,
    /// `None` once the client closed it.
    input: Option<ChildStdin>,
    /// `None` once the client closed it.
    output: Option<Lines<BufReader<ChildStdout>>>,
    /// Reads the log as it is written: a full pipe would block the server.
    log: Option<JoinHandle<String>>,
    served: u64,
    /// Tells the watch, by being dropped, that the test is over.
    _watch: mpsc::Sender<()>,
}

impl Process {
    /// Starts a program and sends nothing.
    pub fn silent(program: &str) -> Self {
        Self::of(&mut Command::new(program))
    }

    /// Starts a command and sends nothing.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (id, input, log) = (child.id(), child.stdin.take(), child.stderr.take().map(read_log));
        let output = child.stdout.take().map(|output| BufReader::new(output).lines());
        let child = Arc::new(Mutex::new(child));
        let watch = watch(Arc::clone(&child));
        Process { child, id, input, output, log, served: 0, _watch: watch }
    }

    /// Starts a program and opens a session of 2025-11-25.
    pub fn start(program: &str) -> Self {
        Self::in_revision(program, "2025-11-25")
    }

    /// Starts a program and opens a session of a revision that has sessions.
    pub fn in_revision(program: &str, revision: &str) -> Self {
        let mut process = Self::silent(program);
        process.initialize(revision);
        process
    }

    /// Opens a session.
    pub fn initialize(&mut self, revision: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": revision}}));
        assert_eq!(self.answer(0)["result"]["protocolVersion"], revision);
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.input.as_mut().unwrap().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n"));
    }

    /// Calls a tool.
    pub fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}));
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Writes on a thread of its own, for tests that read meanwhile, or do not.
    pub fn write_beside(
        &mut self,
        write: impl FnOnce(&mut ChildStdin) -> std::io::Result<()> + Send + 'static,
    ) -> JoinHandle<ChildStdin> {
        let mut input = self.input.take().unwrap();
        thread::spawn(move || {
            write(&mut input).unwrap();
            input
        })
    }

    /// Takes the input back from a thread that wrote.
    pub fn rejoin(&mut self, writer: JoinHandle<ChildStdin>) {
        self.input = Some(writer.join().unwrap());
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        self.output.as_mut().unwrap().next().expect("a line").unwrap()
    }

    /// The next message.
    #[expect(clippy::should_implement_trait, reason = "an iterator would end where a test has to fail")]
    pub fn next(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// The next message, which answers request `id`.
    pub fn answer(&mut self, id: u64) -> Value {
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The text of the next message, which is the result of the call `id`.
    pub fn text(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Asserts that a call of the tool `quick` is answered, and that nothing else is sent before.
    pub fn serves(&mut self) {
        self.served += 1;
        let id = format!("served {}", self.served);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "quick"}}));
        let answer = self.next();
        assert_eq!(
            answer,
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "quick"}]}})
        );
    }

    /// Closes the input and waits for the end. Returns the remaining lines, and the log.
    pub fn finish(mut self) -> (Vec<String>, String) {
        self.close_input();
        let rest: Vec<String> = self.output.take().unwrap().map(Result::unwrap).collect();
        let log = self.log.take().unwrap().join().unwrap();
        assert!(self.ended().success(), "{log}");
        (rest, log)
    }

    /// Closes the client's writing end.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Closes the client's reading end.
    pub fn close_output(&mut self) {
        drop(self.output.take());
    }

    /// Waits for the process to end.
    pub fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = lock(&self.child).try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server is still there");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The most memory the process ever had, in KiB.
    #[cfg(target_os = "linux")] // read from /proc
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.id
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        // It has ended, unless the test failed.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn read_log(mut stderr: ChildStderr) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut log = Vec::new();
        stderr.read_to_end(&mut log).unwrap();
        String::from_utf8_lossy(&log).into_owned()
    })
}

/// Kills the server if the sender is not dropped in time.
fn watch(child: Arc<Mutex<Child>>) -> mpsc::Sender<()> {
    let (sender, over) = mpsc::channel();
    thread::spawn(move || {
        if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = lock(&child).kill();
        }
    });
    sender
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test in a process of its own, for tests of process-wide state. `name` is the path of the test.
pub fn in_own_process(name: &str, test: impl FnOnce()) {
    const HERE: &str = "MCP_TESTS_IN_OWN_PROCESS";
    if std::env::var_os(HERE).is_some() {
        return test();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(HERE, "1").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}
