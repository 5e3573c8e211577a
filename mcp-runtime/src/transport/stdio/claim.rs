//! Claims standard input and output for the protocol.
//!
//! A stray `println!`, or a child process that reads its inherited standard input, would corrupt the protocol.
//! So the server moves both to other file descriptors (on Windows: handles), and puts harmless ones in their place.

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

/// Takes the real standard input and output. Afterwards the process's standard output goes to standard error,
/// and its standard input is empty. A console is left as it is: a person reads it, and the standard library
/// translates between its encoding and UTF-8.
#[cfg(windows)]
pub(crate) fn standard_streams() -> io::Result<(Box<dyn io::Read + Send>, Box<dyn io::Write + Send>)> {
    use std::fs::File;
    use std::io::IsTerminal as _;
    use std::os::windows::io::AsHandle as _;

    use filedescriptor::StdioDescriptor;

    // Duplicates are not inherited by child processes, not even the log's: a child that is to have it gets another.
    if !io::stderr().is_terminal() {
        replace(StdioDescriptor::Stderr, &io::stderr())?;
    }
    let (input, output) = (io::stdin(), io::stdout());
    let input: Box<dyn io::Read + Send> = if input.is_terminal() {
        Box::new(input)
    } else {
        let claimed = input.as_handle().try_clone_to_owned()?;
        replace(StdioDescriptor::Stdin, &File::open("NUL")?)?;
        Box::new(File::from(claimed))
    };
    let output: Box<dyn io::Write + Send> = if output.is_terminal() {
        Box::new(output)
    } else {
        let claimed = output.as_handle().try_clone_to_owned()?;
        replace(StdioDescriptor::Stdout, &io::stderr())?;
        Box::new(File::from(claimed))
    };
    Ok((input, output))
}

/// Puts a duplicate of `stand_in` in the place of a standard stream, and closes the handle that was there: child
/// processes inherit it, whatever their own streams are.
#[cfg(windows)]
fn replace(
    stream: filedescriptor::StdioDescriptor,
    stand_in: &impl std::os::windows::io::AsRawHandle,
) -> io::Result<()> {
    use std::os::windows::io::AsRawHandle as _;

    use filedescriptor::FileDescriptor;

    let before = FileDescriptor::redirect_stdio(stand_in, stream).map_err(io::Error::other)?;
    let others = [io::stdin().as_raw_handle(), io::stdout().as_raw_handle(), io::stderr().as_raw_handle()];
    if others.contains(&before.as_raw_handle()) {
        // One handle for two streams, as after `2>&1`: the other one is still in use.
        std::mem::forget(before);
        return Ok(());
    }
    drop(before);
    // C code prints to the number of the handle that it has seen at the start. That number is free now, and a new handle
    // takes it: better this one than a file of the program.
    FileDescriptor::redirect_stdio(stand_in, stream).map_err(io::Error::other).map(drop)
}

/// Returns the standard streams as they are. They cannot be moved here, so a stray `println!` becomes a line between
/// messages, which clients skip or report.
#[cfg(not(any(unix, windows)))]
pub(crate) fn standard_streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}
