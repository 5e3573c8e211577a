//! Runs a process: reports its lines, bounds its output and its time, and kills it when nobody waits for it.

use std::io::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_runtime::Context;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

/// The bytes that are kept of each stream.
const MAX_OUTPUT: usize = 64 * 1024;

/// A longer line is reported in parts.
const MAX_LINE: u64 = 4096;

/// What came of a command.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
    /// 0 if the command succeeded. Absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Whether it was killed because it took too long.
    timed_out: bool,
    /// Its output, or the end of it.
    stdout: String,
    /// Its error output, or the end of it.
    stderr: String,
    /// Whether the beginning of an output is left out.
    truncated: bool,
}

/// Runs a command to its end, or kills it after this time. Each line is a progress report of the call.
///
/// A cancelled call drops this future, and the future drops the process.
pub async fn run(ctx: &Context, command: &mut Command, limit: Duration) -> Result<Outcome> {
    let mut process = ProcessGroup::spawn(command)?;
    let (out, err) = (process.0.stdout.take(), process.0.stderr.take());
    let (mut stdout, mut stderr) = (Output::default(), Output::default());
    let lines = AtomicU64::new(0);
    let end = async {
        tokio::join!(stdout.read(out, ctx, &lines), stderr.read(err, ctx, &lines));
        process.0.wait().await
    };
    let status = tokio::time::timeout(limit, end).await;
    drop(process); // kills what is left of it
    Ok(Outcome {
        timed_out: status.is_err(),
        exit_code: status.ok().transpose()?.and_then(|status| status.code()),
        stdout: stdout.text(),
        stderr: stderr.text(),
        truncated: stdout.truncated || stderr.truncated,
    })
}

/// The output of a process, of which the end is kept: that is where the errors are.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    truncated: bool,
}

impl Output {
    async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>, ctx: &Context, lines: &AtomicU64) {
        let Some(stream) = stream else { return };
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        // Also after the limit: a process whose output nobody reads does not end.
        while (&mut stream).take(MAX_LINE).read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
            self.bytes.extend_from_slice(&line);
            if self.bytes.len() > 2 * MAX_OUTPUT {
                self.truncate();
            }
            let count = lines.fetch_add(1, Ordering::Relaxed) + 1;
            // The runtime leaves out reports that follow each other too quickly. The result has all lines.
            ctx.progress_message(count, None, String::from_utf8_lossy(&line).trim_end()).await;
            line.clear();
        }
    }

    /// Leaves out the beginning of an output that is too long.
    fn truncate(&mut self) {
        let excess = self.bytes.len().saturating_sub(MAX_OUTPUT);
        self.bytes.drain(..excess);
        self.truncated |= excess > 0;
    }

    /// The text. Bytes that are not Unicode are replaced.
    fn text(&mut self) -> String {
        self.truncate();
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A process with all those it starts. Dropping it kills them.
struct ProcessGroup(Child);

impl ProcessGroup {
    fn spawn(command: &mut Command) -> Result<Self> {
        // The process itself. On Windows, those it has started live on: a job object would end them, too.
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        Ok(ProcessGroup(command.spawn()?))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Without an id it has ended and was waited for: the system may have given its id to another process.
        #[cfg(unix)]
        if let Some(id) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            // An error means that nothing is left of it.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}
