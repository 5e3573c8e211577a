//! [`Page`]: lines for the person, as cargo writes them.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::cli::terminal::Terminal;

/// Where the person reads.
pub(super) struct Page<'a> {
    pub(super) out: Open<'a>,
    pub(super) terminal: Terminal,
}

/// An output that may be closed early, as by `head`: that is no reason to stop in the middle of an installation.
pub(super) struct Open<'a>(pub(super) &'a mut dyn Write);

impl Write for Open<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

impl Page<'_> {
    /// What was done: a green verb, and what it was done to.
    pub(super) fn done(&mut self, verb: &str, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{} {text}", self.terminal.green(format_args!("{verb:>12}")))
    }

    /// Details of what was done.
    pub(super) fn detail(&mut self, label: &str, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{} {text}", self.terminal.dim(format_args!("{label:>12}")))
    }

    /// What the person should know.
    pub(super) fn note(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{} {text}", self.terminal.yellow(format_args!("{:>12}", "note:")))
    }

    /// A heading, and the text below it.
    pub(super) fn section(&mut self, heading: impl Display, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{}\n{text}\n", self.terminal.bold(heading))
    }
}
