//! Questions of a tool, asked in a terminal: a person types, declines, and gives up.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::commands::server;
use crate::terminal::terminal;

const PATIENCE: Duration = Duration::from_secs(2 * 60);
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// A person at a terminal, and the command that runs there.
struct Person {
    keyboard: File,
    seen: Arc<Mutex<Vec<u8>>>,
    child: Child,
}

impl Person {
    fn starts(line: &str) -> Self {
        let (person, program) = terminal();
        let streams = || program.try_clone().map(Stdio::from).unwrap();
        let mut command: Command = server();
        command.args(line.split(' ')).env("TERM", "xterm").env("NO_COLOR", "1");
        let child = command.stdin(streams()).stdout(streams()).stderr(streams()).spawn().unwrap();
        let mut screen = File::from(person);
        let keyboard = screen.try_clone().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&seen);
        thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
            }
        });
        Person { keyboard, seen, child }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap_or_else(PoisonError::into_inner)).replace("\r\n", "\n")
    }

    fn sees(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.seen().contains(text) {
            assert!(Instant::now() < end, "no `{text}` in {}", self.seen());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Ctrl-C.
    fn interrupts(&self) {
        let child = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(child, Signal::INT).unwrap();
    }

    fn exit_code(&mut self) -> i32 {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| panic!("{status}: {}", self.seen()));
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                panic!("it does not end: {}", self.seen());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn forms_are_asked_field_by_field() {
    for revision in REVISIONS {
        for tool in ["order", "order_later"] {
            let mut person = Person::starts(&format!("call {tool} --revision {revision}"));
            person.sees("What would you like?");
            for (question, answer) in
                [("name", "Ann\n"), ("count", "9\n"), ("!", "2\n"), ("2) large", "2\n"), ("note", "\n")]
            {
                person.sees(question);
                person.types(answer);
            }
            person.sees("2 large for Ann, None");
            assert_eq!(person.exit_code(), 0);
            assert!(person.seen().contains("For whom?"), "{}", person.seen());
        }
    }
}

#[test]
fn forms_can_be_declined_and_cancelled() {
    for (typed, said) in [(":decline\n", "declined"), (":cancel\n", "cancel"), ("\u{4}", "cancel")] {
        let mut person = Person::starts("call order");
        person.sees("name");
        person.types(typed);
        assert_eq!(person.exit_code(), 1);
        person.sees(said);
    }
}

#[test]
fn ctrl_c_works_while_a_form_is_asked() {
    for revision in REVISIONS {
        for tool in ["order", "order_later"] {
            let mut person = Person::starts(&format!("call {tool} --revision {revision}"));
            person.sees("name");
            person.interrupts();
            assert_eq!(person.exit_code(), 130, "{tool} {revision}: {}", person.seen());
        }
    }
}

#[test]
fn time_is_over_also_while_a_form_is_asked() {
    for revision in REVISIONS {
        let mut person = Person::starts(&format!("call order --timeout 2 --revision {revision}"));
        assert_eq!(person.exit_code(), 3, "{revision}: {}", person.seen());
        person.sees("no answer within 2 s");
    }
}
