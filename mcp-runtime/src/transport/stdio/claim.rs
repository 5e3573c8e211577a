//! Standard input and output, taken away from the rest of the process.
//!
//! On stdio the stream is the protocol: a stray `println!`, or a child process that reads what it
//! inherited, would break it. So the server moves both ends elsewhere and leaves harmless ones in
//! their place.

use std::io;

/// The real standard input and output. Afterwards the process's standard output leads to standard
/// error, and its standard input is empty.
#[cfg(unix)]
pub(crate) fn standard_streams() -> io::Result<(std::fs::File, std::fs::File)> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::fcntl_dupfd_cloexec;
    use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};

    // Above 2, and closed in child processes.
    let input = fcntl_dupfd_cloexec(stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(stdout(), 3)?;
    dup2_stdin(std::fs::File::open("/dev/null")?)?;
    dup2_stdout(stderr())?;
    for stream in [&input, &output] {
        // The threads that use them are made to wait; whoever opened the pipe may not have been.
        fcntl_setfl(stream, fcntl_getfl(stream)? - OFlags::NONBLOCK)?;
    }
    Ok((input.into(), output.into()))
}

/// The standard streams as they are: where file descriptors cannot be moved safely, a stray
/// `println!` becomes a line of its own between messages, which clients skip or report.
#[cfg(not(unix))]
pub(crate) fn standard_streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}
