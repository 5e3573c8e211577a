//! The hand-written floor: owns the loop from stdin to stdout, and nothing a framework would add.
#![forbid(unsafe_code)]

mod rpc;
mod tools;

use std::io::{self, Read, Write};

/// Room for many lines per read; more than std's own buffer, so reads go straight to the system.
const READ_BUFFER: usize = 64 * 1024;

fn main() -> io::Result<()> {
    serve(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// Answers every line that one read brought with one write, until the client closes its end.
fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; READ_BUFFER];
    let mut filled = 0;
    let mut replies = Vec::with_capacity(READ_BUFFER);
    loop {
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
        let read = input.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;

        let mut done = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[done..filled]) {
            rpc::answer(&buffer[done..done + length], &mut replies);
            done += length + 1;
        }
        if !replies.is_empty() {
            output.write_all(&replies)?;
            output.flush()?;
            replies.clear();
        }
        // Keep the start of a line whose end has not arrived yet.
        buffer.copy_within(done..filled, 0);
        filled -= done;
    }
}
