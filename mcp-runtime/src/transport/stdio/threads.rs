//! The two threads of a conversation: one reads and answers, one writes what comes later.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};

use super::lines::{Line, Lines};
use crate::call::outbox::{Outbox, Outgoing};
use crate::dispatch::connection::Connection;
use crate::sync::{lock, spawn_thread};

/// Answers are written when they are this long together, even if there are more messages to take.
const BATCH_BYTES: usize = 64 * 1024;

/// Runs `body` on a thread of its own; the receiver yields what it returns.
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (done, result) = oneshot::channel();
    // The receiver is gone if serving was aborted.
    spawn_thread(name, Box::new(move || drop(done.send(body()))))?;
    Ok(result)
}

/// Takes messages until the input ends or the client sends `exit`; writes ready answers in batches.
pub(super) fn read(
    connection: &mut Connection,
    mut lines: Lines<impl Read>,
    outbox: &Outbox,
    output: &Output<impl Write>,
) -> io::Result<()> {
    let control = Arc::clone(connection.control());
    let mut reading = None;
    let mut batch = Vec::new();
    loop {
        match lines.next() {
            Line::Message(frame) => {
                connection.receive(frame, outbox, &mut batch);
            }
            Line::TooLong(beginning) => connection.refuse_oversized(beginning, &mut batch),
            Line::NoMore => {
                flush(&mut batch, output)?;
                drop(reading.take());
                if lines.fill()? == 0 {
                    return Ok(());
                }
                reading = Some(control.start_reading());
                if control.has_ended() {
                    return Ok(());
                }
            }
        }
        let exited = connection.exited().is_some();
        if exited || batch.len() >= BATCH_BYTES {
            flush(&mut batch, output)?;
        }
        if exited {
            return Ok(());
        }
        if connection.has_too_many_errors() {
            flush(&mut batch, output)?;
            let errors = connection.consecutive_errors();
            return Err(io::Error::other(format!("closing after {errors} consecutive malformed messages")));
        }
    }
}

/// Writes the messages of the outbox, as many at once as there are, until `End`.
pub(super) fn write(mut messages: mpsc::Receiver<Outgoing>, output: &Output<impl Write>) -> io::Result<()> {
    let mut batch = Vec::new();
    while let Some(message) = messages.blocking_recv() {
        let mut open = append(message, &mut batch);
        while open
            && batch.len() < BATCH_BYTES
            && let Ok(message) = messages.try_recv()
        {
            open = append(message, &mut batch);
        }
        flush(&mut batch, output)?;
        if !open {
            break;
        }
    }
    Ok(())
}

/// Adds a message to what is to be written; false at the end.
fn append(message: Outgoing, batch: &mut Vec<u8>) -> bool {
    match message {
        #[cfg(feature = "http")]
        Outgoing::Refused(refused) => batch.extend_from_slice(&refused.into_line()),
        Outgoing::Answer(line) | Outgoing::Notification(line) | Outgoing::Heartbeat(line) => {
            batch.extend_from_slice(&line);
        }
        // There is no stream to close: the client stays connected.
        Outgoing::Detach => {}
        Outgoing::End => return false,
    }
    true
}

fn flush(batch: &mut Vec<u8>, output: &Output<impl Write>) -> io::Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    output.write(batch)?;
    batch.clear();
    batch.shrink_to(BATCH_BYTES);
    Ok(())
}

/// Where both threads write, until it is closed.
pub(super) struct Output<W>(Mutex<Option<W>>);

impl<W: Write> Output<W> {
    pub(super) fn new(output: W) -> Self {
        Output(Mutex::new(Some(output)))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut output = lock(&self.0);
        let output = output.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        output.write_all(bytes)?;
        output.flush()
    }

    /// Drops the stream, unless a thread is blocked in writing to it.
    pub(super) fn close(&self) {
        if let Ok(mut output) = self.0.try_lock() {
            *output = None;
        }
    }
}
