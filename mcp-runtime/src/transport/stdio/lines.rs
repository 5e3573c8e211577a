//! The framing of stdio: splits a reader's bytes into lines, none longer than the limit.

use std::io::{ErrorKind, Read, Result};

/// Bytes to read at a time.
const CHUNK: usize = 64 * 1024;

/// The lines of `reader`. The buffer never grows beyond the limit plus one chunk.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    buffer: Vec<u8>,
    /// The end of the bytes read.
    filled: usize,
    /// The end of the lines handed out.
    taken: usize,
    /// Up to here there is no newline after `taken`.
    searched: usize,
    /// Inside a line over the limit: everything up to its newline is dropped.
    skipping: bool,
    ended: bool,
}

/// The next line in the buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line without its newline. Blank lines are skipped.
    Message(&'a [u8]),
    /// The beginning of a line over the limit, blank or not. It is as long as the limit, however the line was
    /// split into reads; the rest is skipped.
    TooLong(&'a [u8]),
    /// There is no complete line; call `fill`.
    NoMore,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Lines { reader, limit, buffer: vec![0; CHUNK], filled: 0, taken: 0, searched: 0, skipping: false, ended: false }
    }

    /// The next line in the buffer.
    pub(crate) fn next(&mut self) -> Line<'_> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) else {
                self.searched = self.filled;
                return self.incomplete();
            };
            let (start, end) = (self.taken, self.searched + found);
            self.taken = end + 1;
            self.searched = self.taken;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if end - start > self.limit {
                return Line::TooLong(&self.buffer[start..start + self.limit]);
            }
            if self.buffer[start..end].trim_ascii().is_empty() {
                continue;
            }
            return Line::Message(&self.buffer[start..end]);
        }
    }

    /// The bytes after the last newline: an incomplete line, one over the limit, or the last one.
    fn incomplete(&mut self) -> Line<'_> {
        let (start, end) = (self.taken, self.filled);
        if self.skipping {
            self.taken = end;
        } else if end - start > self.limit {
            self.taken = end;
            self.skipping = true;
            return Line::TooLong(&self.buffer[start..start + self.limit]);
        } else if self.ended {
            self.taken = end;
            if !self.buffer[start..end].trim_ascii().is_empty() {
                return Line::Message(&self.buffer[start..end]);
            }
        }
        Line::NoMore
    }

    /// Reads once. Returns zero when the input has ended and every line was handed out.
    pub(crate) fn fill(&mut self) -> Result<usize> {
        self.make_room();
        loop {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) if !self.ended && self.filled > self.taken => {
                    // The last line has no newline: it is handed out before the end is reported.
                    self.ended = true;
                    return Ok(self.filled - self.taken);
                }
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
            }
        }
    }

    fn make_room(&mut self) {
        let rest = self.filled - self.taken;
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.searched -= self.taken;
            (self.filled, self.taken) = (rest, 0);
        }
        if rest == 0 && self.buffer.len() > CHUNK {
            // Frees the memory of a long message.
            self.buffer = vec![0; CHUNK];
        } else if self.filled == self.buffer.len() {
            let room = (self.buffer.len() * 2).min(self.limit.saturating_add(CHUNK));
            self.buffer.resize(room.max(self.buffer.len() + 1), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns its bytes in pieces of one size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            let count = self.0.len().min(self.1).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn all(input: &[u8], piece: usize, limit: usize) -> Vec<String> {
        let mut lines = Lines::new(Pieces(input, piece), limit);
        let mut found = Vec::new();
        loop {
            match lines.next() {
                Line::Message(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                Line::TooLong(beginning) => found.push(format!("<{}…>", String::from_utf8_lossy(beginning))),
                Line::NoMore => {
                    if lines.fill().unwrap() == 0 {
                        return found;
                    }
                }
            }
        }
    }

    #[test]
    fn lines_do_not_depend_on_read_sizes() {
        for piece in 1..12 {
            assert_eq!(all(b"one\n\n  \r\ntwo\r\nthree", piece, 100), ["one", "two\r", "three"], "{piece}");
            assert_eq!(all(b"", piece, 100), [""; 0]);
            assert_eq!(all(b"\n", piece, 100), [""; 0]);
        }
    }

    #[test]
    fn line_over_the_limit_is_reported_once_and_skipped() {
        for piece in 1..12 {
            assert_eq!(
                all(b"12345678901\nshort\n1234567890\n", piece, 10),
                ["<1234567890…>", "short", "1234567890"],
                "{piece}"
            );
            assert_eq!(all(b"1234567890123", piece, 10), ["<1234567890…>"], "{piece}");
            assert_eq!(all(b"           \n          \nend", piece, 10), ["<          …>", "end"], "{piece}");
        }
    }

    #[test]
    fn buffer_is_bounded() {
        let input = vec![b'x'; 3_000_000];
        let mut lines = Lines::new(&input[..], 100_000);
        while lines.fill().unwrap() > 0 {
            while lines.next() != Line::NoMore {}
            assert!(lines.buffer.len() <= 100_000 + CHUNK);
        }
    }

    #[test]
    fn largest_limit_does_not_overflow() {
        let long = "z".repeat(300_000);
        assert_eq!(all(format!("{long}\n").as_bytes(), 70_000, usize::MAX), [long]);
    }

    #[test]
    fn line_longer_than_a_chunk_is_whole() {
        let long = "y".repeat(1_000_000);
        let input = format!("{long}\nend\n");
        assert_eq!(all(input.as_bytes(), 70_000, 4_000_000), [long.as_str(), "end"]);
    }
}
