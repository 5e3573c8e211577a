//! The difference between two texts, as `diff -u` shows it.

use std::io::{self, Write};

use similar::{ChangeTag, TextDiff};

use crate::cli::terminal::Terminal;

/// Writes the lines that differ, with three lines around them.
pub(super) fn write(out: &mut dyn Write, terminal: Terminal, before: &str, after: &str) -> io::Result<()> {
    let difference = TextDiff::from_lines(before, after);
    for hunk in difference.unified_diff().context_radius(3).iter_hunks() {
        writeln!(out, "{}", terminal.cyan(hunk.header()))?;
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches(['\r', '\n']);
            match change.tag() {
                ChangeTag::Equal => writeln!(out, " {line}")?,
                ChangeTag::Delete => writeln!(out, "{}", terminal.removed(format_args!("-{line}")))?,
                ChangeTag::Insert => writeln!(out, "{}", terminal.added(format_args!("+{line}")))?,
            }
        }
    }
    Ok(())
}
