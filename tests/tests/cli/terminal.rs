//! The command line on a terminal: colours, the page without arguments, no escape sequences of the server.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::commands::server;

/// A person's end of a terminal, and the program's.
pub(crate) fn terminal() -> (OwnedFd, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let path = ptsname(&person, Vec::new()).unwrap();
    let program = File::options().read(true).write(true).open(OsStr::from_bytes(path.to_bytes())).unwrap();
    (person, program)
}

/// What a person sees of a command that ends by itself.
fn seen(command: &mut Command) -> String {
    let (person, program) = terminal();
    let streams = || program.try_clone().map(Stdio::from).unwrap();
    let mut child = command.stdin(streams()).stdout(streams()).stderr(streams()).env("TERM", "xterm").spawn().unwrap();
    // The command keeps copies of the streams for the next process.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(program);
    let reader = std::thread::spawn(move || {
        let (mut seen, mut person) = (Vec::new(), File::from(person));
        // Ends with an error when the last writer is gone.
        let _ = person.read_to_end(&mut seen);
        String::from_utf8_lossy(&seen).replace("\r\n", "\n")
    });
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn terminal_gets_a_page_with_the_next_commands() {
    let page = seen(server().env("NO_COLOR", "1"));
    assert!(
        page.starts_with("commands 1.2.3, an MCP server\nSomething for every command.\n\nTools\n  add(a"),
        "{page}"
    );
    assert!(page.contains(" call add a=1 ") && page.contains(" install --list"), "{page}");
    assert!(!page.contains('\x1b'), "{page}");
    let coloured = seen(&mut server());
    assert!(coloured.contains("\x1b[1;32mTools\x1b[0m"), "{coloured}");
}

#[test]
fn escape_sequences_of_the_server_do_not_reach_a_terminal() {
    assert_eq!(seen(server().args(["read", "text://note"])), "milk[31m\n");
}

#[test]
fn progress_is_a_bar_that_disappears() {
    let shown = seen(server().args(["call", "work"]).env("NO_COLOR", "1"));
    assert!(shown.contains("[============>           ]  50%"), "{shown:?}");
    assert!(shown.ends_with("\r\x1b[2Kdone\n"), "{shown:?}");
}
