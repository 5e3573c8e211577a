//! Claims standard input and output for the protocol.
//!
//! A stray `println!`, or a child process that reads its inherited standard input, would corrupt the protocol.
//! So the server moves both to other file descriptors, and puts harmless ones in their place.

use std::io;

/// Takes the real standard input and output. Afterwards the process's standard output goes to standard error,
/// and its standard input is empty.
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
        // They are used by blocking threads; the parent process may have opened its pipes as non-blocking.
        fcntl_setfl(stream, fcntl_getfl(stream)? - OFlags::NONBLOCK)?;
    }
    Ok((input.into(), output.into()))
}

/// Returns the standard streams as they are. File descriptors cannot be moved safely here, so a stray
/// `println!` becomes a line between messages, which clients skip or report.
#[cfg(not(unix))]
pub(crate) fn standard_streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}
