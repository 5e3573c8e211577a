//! [`Process`]: a child on stdio, as lines.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::session::ChildId;

/// How long a child may take to exit after its input was closed.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long the output of an exited child is read: a process it left behind may hold it open.
const REMAINS: Duration = Duration::from_millis(500);
/// The longest line.
const LINE_BYTES: u64 = 64 << 20;

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) manifest_directory: PathBuf,
}

impl Launch {
    /// The command, as `cargo run` would start it.
    pub(crate) fn command(&self, executable: &PathBuf) -> Command {
        let mut command = Command::new(executable);
        command.args(&self.arguments).env("CARGO_MANIFEST_DIR", &self.manifest_directory).kill_on_drop(true);
        command
    }
}

/// What a child does.
#[derive(Debug)]
pub(crate) enum Event {
    Line(ChildId, String),
    Exited(ChildId, String),
}

/// A child. Dropping it closes its input; a child that does not exit then is killed.
#[derive(Debug)]
pub(crate) struct Process {
    input: mpsc::UnboundedSender<String>,
    queued: Arc<AtomicUsize>,
}

impl Process {
    pub(crate) fn start(mut command: Command, id: ChildId, events: mpsc::Sender<Event>) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn()?;
        // Unbounded, because the supervisor stops reading from the client when much is queued.
        let (input, lines) = mpsc::unbounded_channel();
        let queued = Arc::new(AtomicUsize::new(0));
        tokio::spawn(supervise(child, id, lines, Arc::clone(&queued), events));
        Ok(Process { input, queued })
    }

    pub(crate) fn send(&self, line: String) {
        self.queued.fetch_add(line.len(), Ordering::Relaxed);
        // A child that exited says so with an event.
        self.input.send(line).ok();
    }

    /// The bytes the child has not read yet.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

async fn supervise(
    mut child: Child,
    id: ChildId,
    lines: mpsc::UnboundedReceiver<String>,
    queued: Arc<AtomicUsize>,
    events: mpsc::Sender<Event>,
) {
    let stdin = child.stdin.take();
    let writer = tokio::spawn(write(stdin, lines, queued));
    let output = child.stdout.take();
    let lines = events.clone();
    let mut reader = tokio::spawn(async move {
        let Some(output) = output else { return };
        let mut output = BufReader::new(output);
        while let Ok(Some(line)) = next_line(&mut output).await {
            if lines.send(Event::Line(id, line)).await.is_err() {
                return;
            }
        }
    });
    let closed = async {
        writer.await.ok();
        sleep(GRACE).await;
    };
    let status = tokio::select! {
        status = child.wait() => status,
        () = closed => {
            child.start_kill().ok();
            child.wait().await
        }
    };
    if timeout(REMAINS, &mut reader).await.is_err() {
        reader.abort();
    }
    events.send(Event::Exited(id, describe(status))).await.ok();
}

/// "exit status: 101".
pub(crate) fn describe(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// Writes lines until there are no more to come.
async fn write(stdin: Option<ChildStdin>, mut lines: mpsc::UnboundedReceiver<String>, queued: Arc<AtomicUsize>) {
    let Some(mut stdin) = stdin else { return };
    while let Some(mut line) = lines.recv().await {
        let bytes = line.len();
        line.push('\n');
        let written = stdin.write_all(line.as_bytes()).await;
        queued.fetch_sub(bytes, Ordering::Relaxed);
        if written.is_err() {
            return;
        }
    }
}

/// The next line without its end, however it is encoded; empty lines and those over the limit are skipped.
pub(crate) async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        line.clear();
        let read = (&mut *reader).take(LINE_BYTES).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(None);
        }
        let complete = line.last() == Some(&b'\n') || (read as u64) < LINE_BYTES;
        if complete && !too_long {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']);
            if !text.trim().is_empty() {
                return Ok(Some(text.to_owned()));
            }
        }
        too_long = !complete;
    }
}
