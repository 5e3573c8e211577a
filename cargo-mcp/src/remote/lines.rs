//! The two ends of a connection over HTTP, as lines: [`Messages`] are written, [`Arrived`] ones are read.

use std::io::{self, Cursor, Read, Write};
use std::sync::mpsc;
use std::thread;

/// What the client writes: a line is a message.
pub(super) struct Messages<S> {
    send: S,
    unfinished: Vec<u8>,
    /// Dropped with this end, when everything is sent.
    _open: mpsc::Sender<()>,
}

impl<S: Fn(&str) + Clone + Send + 'static> Messages<S> {
    /// The receiver is disconnected when the client has closed this end, and its notifications are sent.
    pub(super) fn new(send: S) -> (Self, mpsc::Receiver<()>) {
        let (open, all_sent) = mpsc::channel();
        (Messages { send, unfinished: Vec::new(), _open: open }, all_sent)
    }
}

impl<S: Fn(&str) + Clone + Send + 'static> Write for Messages<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if self.unfinished.last() == Some(&b'\n') {
                let line = String::from_utf8_lossy(&self.unfinished).trim_end().to_owned();
                self.unfinished.clear();
                let send = self.send.clone();
                let is_request = line.contains("\"id\"");
                let sending = thread::spawn(move || send(&line));
                // A notification arrives before what follows it, such as `initialized` before a call.
                if !is_request {
                    let _ = sending.join();
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the client reads.
pub(super) struct Arrived {
    lines: mpsc::Receiver<String>,
    current: Cursor<Vec<u8>>,
}

impl Arrived {
    pub(super) fn new(lines: mpsc::Receiver<String>) -> Self {
        Arrived { lines, current: Cursor::default() }
    }
}

impl Read for Arrived {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(out)?;
            if count > 0 {
                return Ok(count);
            }
            match self.lines.recv() {
                Ok(line) => self.current = Cursor::new(line.into_bytes()),
                Err(mpsc::RecvError) => return Ok(0),
            }
        }
    }
}
