//! Standard error that nobody reads: a pump between the process and its client, which drops what does not fit.
//!
//! A pipe holds 64 KiB. When a client does not read the log, the next `eprintln!`, panic message or log event blocks its
//! thread, and with it whoever waits for the lock on standard error: no call is answered any more. So while a client is
//! served, the process writes to a pipe of its own, which one thread always empties into a bounded buffer, and another
//! writes the buffer to the client. Files and terminals are left alone.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{fcntl_dupfd_cloexec, ioctl_fionread};
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr};

use super::threads;
use crate::sync::lock;

/// The bytes that wait for the client at most.
const CAPACITY: usize = 1024 * 1024;
/// The bytes written at a time.
const CHUNK: usize = 16 * 1024;
/// How long the end of serving waits for the client to read the rest.
const FLUSH_TIME: Duration = Duration::from_millis(250);

/// The pump at work, for those who end the process.
static CURRENT: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

/// Standard error goes through the pump until this is dropped.
#[derive(Debug)]
pub(super) struct LogPump {
    shared: Arc<Shared>,
    /// The client's end.
    real: File,
}

#[derive(Debug)]
struct Shared {
    source: PipeReader,
    state: Mutex<State>,
    /// Notified when there is something to write.
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// The bytes dropped since the client was last told.
    dropped: u64,
    /// Whether a chunk is being written.
    writing: bool,
    /// Nothing comes any more.
    ended: bool,
    /// The client has closed its end.
    closed: bool,
}

/// Puts a pump behind standard error, if that is a pipe or a socket.
pub(super) fn start() -> io::Result<Option<LogPump>> {
    let kind = FileType::from_raw_mode(fstat(stderr())?.st_mode);
    if !matches!(kind, FileType::Fifo | FileType::Socket) {
        return Ok(None);
    }
    // Above 2, and closed in child processes.
    let real = File::from(fcntl_dupfd_cloexec(stderr(), 3)?);
    let (source, sink) = io::pipe()?;
    let shared = Arc::new(Shared { source, state: Mutex::default(), filled: Condvar::new() });
    let (taking, giving, client) = (Arc::clone(&shared), Arc::clone(&shared), real.try_clone()?);
    // Detached: they end with the pipe, or with the process.
    drop(threads::spawn("mcp-log-in", move || taking.take())?);
    drop(threads::spawn("mcp-log-out", move || giving.give(client))?);
    redirect(&sink)?;
    *lock(&CURRENT) = Arc::downgrade(&shared);
    flush_before_abort();
    Ok(Some(LogPump { shared, real }))
}

/// Waits until the client has read what was logged, or has had its time. For who ends the process.
pub(crate) fn flush() {
    let current = lock(&CURRENT).upgrade();
    if let Some(shared) = current {
        shared.flush(FLUSH_TIME);
    }
}

/// Standard error, and the stray output of the process.
fn redirect(to: impl AsFd) -> io::Result<()> {
    dup2_stderr(&to)?;
    dup2_stdout(&to)?;
    Ok(())
}

/// Where a panic ends the process, its message would be lost in the pump.
fn flush_before_abort() {
    if cfg!(panic = "abort") {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            flush();
        }));
    }
}

impl Drop for LogPump {
    fn drop(&mut self) {
        // If the client does not read, the pump stays: what the process logs from here on must not block it, either.
        if self.shared.flush(FLUSH_TIME) {
            let _ = redirect(&self.real);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes what the process logs, always.
    fn take(&self) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let mut ready = [PollFd::new(&self.source, PollFlags::IN)];
            if poll(&mut ready, None).is_err() {
                continue;
            }
            // Under the lock, so that nothing is in between when the pipe and the buffer are empty.
            let mut state = self.state();
            let count = match (&self.source).read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            state.ended = count == 0;
            if state.closed || state.waiting.len() + count > CAPACITY {
                state.dropped += count as u64;
            } else {
                state.waiting.extend_from_slice(&chunk[..count]);
            }
            self.filled.notify_all();
            if state.ended {
                return;
            }
        }
    }

    /// Gives the client what waits, as fast as it reads.
    fn give(&self, mut client: File) {
        loop {
            let chunk = {
                let mut state = self.state();
                state.writing = false;
                while state.waiting.is_empty() && !state.ended {
                    state = self.filled.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                let Some(chunk) = state.next_chunk() else { return };
                state.writing = true;
                chunk
            };
            if write_all(&mut client, &chunk).is_err() {
                let mut state = self.state();
                state.closed = true;
                state.waiting = Vec::new();
            }
        }
    }

    /// Waits until everything is with the client; false if it does not read.
    fn flush(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            let state = self.state();
            if state.closed {
                return false;
            }
            if state.waiting.is_empty() && !state.writing && ioctl_fionread(&self.source).is_ok_and(|count| count == 0)
            {
                return true;
            }
            drop(state);
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl State {
    /// The next bytes for the client; `None` at the end. What was dropped is told where it is missing.
    fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let count = self.waiting.len().min(CHUNK);
        let mut chunk = self.waiting[..count].to_vec();
        self.waiting.drain(..count);
        if self.waiting.is_empty() && self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            let note = format!("\n[{dropped} bytes of this log were dropped: standard error was not read]\n");
            chunk.extend_from_slice(note.as_bytes());
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

/// Writes everything, also to a client's end that is not blocking.
fn write_all(client: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match client.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(client, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
