//! [`Report`]: what the person reads on standard error, in cargo's form.

use std::fmt::Display;
use std::io::Write;
use std::time::{Duration, Instant};

use mcp_runtime::cli::terminal::Terminal;

/// Standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    terminal: Terminal,
    quiet: bool,
}

impl Report {
    pub(crate) fn new(quiet: bool) -> Self {
        Report { terminal: Terminal::stderr(), quiet }
    }

    /// A step, unless nobody wants to know.
    pub(crate) fn status(self, verb: &str, text: impl Display) {
        if !self.quiet {
            Report::verbatim(&format!("{} {text}", self.terminal.green(format!("{verb:>12}"))));
        }
    }

    pub(crate) fn warning(self, text: impl Display) {
        Report::verbatim(&format!("{}: {text}", self.terminal.yellow("warning")));
    }

    pub(crate) fn error(self, text: impl Display) {
        Report::verbatim(&format!("{}: {text}", self.terminal.red("error")));
    }

    /// A new version serves; `changes` is how it differs from the one before.
    pub(crate) fn swapped(self, name: &str, saved: Instant, changes: &str) {
        let colon = if changes.is_empty() { "" } else { ": " };
        self.status("Swapped", format!("{name} in {}{colon}{changes}", seconds(saved.elapsed())));
    }

    /// The compiler's errors were shown as they came.
    pub(crate) fn build_failed(self, saved: Instant, serving: bool) {
        let next = if serving { "the old version goes on serving" } else { "waiting for a change" };
        self.error(format!("build failed after {}; {next}", seconds(saved.elapsed())));
    }

    /// What cargo, the compiler and servers wrote. `eprintln!` would panic after a client closed standard error.
    pub(crate) fn verbatim(text: &str) {
        let line = format!("{}\n", text.trim_end_matches('\n'));
        std::io::stderr().write_all(line.as_bytes()).ok();
    }

    /// Whether cargo should use colours.
    pub(crate) fn colours(self) -> bool {
        self.terminal.red("").to_string().len() > 1
    }
}

/// "1.8 s".
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
