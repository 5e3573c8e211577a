//! Exact counts from valgrind: instructions and allocations per call, as the difference of two run lengths.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    Result,
    options::Lengths,
    server::Server,
    subject::{Program, scratch_file},
    work::Tool,
};

/// Says how to get valgrind if it is missing.
pub fn require() -> Result<()> {
    let found = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err("valgrind is needed to count instructions; install it with your package manager, \
         for example `apt install valgrind`, `dnf install valgrind` or `pacman -S valgrind`"
        .into())
}

/// Instructions of the whole process, every thread included. `life` runs the command it is given from start to end, with
/// that many calls.
pub fn instructions_per_call(
    program: &Program,
    lengths: Lengths,
    life: impl Fn(Command, usize) -> Result<()>,
) -> Result<f64> {
    per_call(lengths, |calls| {
        let counts = scratch_file("callgrind");
        let log = scratch_file("valgrind-log");
        let mut command = valgrind(&log);
        command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", counts.display()));
        run(program, command, &log, |command| life(command, calls))?;
        let written = fs::read_to_string(&counts)?;
        fs::remove_file(&counts)?;
        number_after(&written, "totals:").ok_or_else(|| "callgrind gave no total".into())
    })
}

pub fn allocations_per_call(program: &Program, tool: Tool, lengths: Lengths) -> Result<f64> {
    per_call(lengths, |calls| {
        let log = scratch_file("valgrind-log");
        let mut command = valgrind(&log);
        // Only the heap summary is wanted; tracking undefined values would double the time.
        command.args(["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"]);
        let printed = run(program, command, &log, |command| stdio_life(command, tool, calls))?;
        number_after(&printed, "total heap usage:").ok_or_else(|| "memcheck gave no heap summary".into())
    })
}

/// Start-up, handshake and shutdown are in both runs and cancel out.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn per_call(lengths: Lengths, count: impl Fn(usize) -> Result<u64>) -> Result<f64> {
    let calls = lengths.counted_calls;
    let short = count(calls)?;
    let long = count(2 * calls)?;
    let extra = long.checked_sub(short).ok_or("the longer run counted less than the shorter one")?;
    Ok(extra as f64 / calls as f64)
}

fn valgrind(log: &Path) -> Command {
    let mut command = Command::new("valgrind");
    // A thread that waits must not starve the one it waits for: valgrind runs one at a time.
    command.arg("--fair-sched=try").arg(format!("--log-file={}", log.display()));
    command
}

/// One whole life of a server under valgrind; returns what valgrind printed.
fn run(program: &Program, valgrind: Command, log: &Path, life: impl FnOnce(Command) -> Result<()>) -> Result<String> {
    life(program.run_by(valgrind))?;
    let printed = fs::read_to_string(log)?;
    fs::remove_file(log)?;
    Ok(printed)
}

/// One whole life of a stdio server, with that many calls.
pub fn stdio_life(command: Command, tool: Tool, calls: usize) -> Result<()> {
    let mut server = Server::start(command)?;
    server.call_sequentially(tool, calls)?;
    server.stop()
}

/// The number that follows `label`, thousands separators allowed.
fn number_after(text: &str, label: &str) -> Option<u64> {
    let rest = text[text.rfind(label)? + label.len()..].trim_start();
    let digits: String =
        rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_after;

    #[test]
    fn reads_the_last_total() {
        assert_eq!(number_after("totals: 1\ntotals: 28866907\n", "totals:"), Some(28_866_907));
        let summary = "==1==   total heap usage: 2,105 allocs, 2,100 frees";
        assert_eq!(number_after(summary, "total heap usage:"), Some(2_105));
        assert_eq!(number_after("nothing", "totals:"), None);
    }
}
