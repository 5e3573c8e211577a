//! Which processors the driver, and with it every server it starts, may run on.

use std::{fs, process::Command};

use crate::Result;

/// Runs `body` with the driver and its children on one core.
///
/// Waking a thread on another core can cost several times the measured call, and whether it happens is up to the
/// scheduler. On one core it never happens.
///
/// Nor does waking a thread interrupt the one that runs: that would happen to a server only if it takes longer for a
/// call than the client does, which is about the client.
pub fn on_one_core<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    on_last_core(|| {
        set_policy("--batch")?;
        let outcome = body();
        set_policy("--other")?;
        outcome
    })
}

fn on_last_core<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let allowed = allowed()?;
    let last = allowed.rsplit([',', '-']).next().unwrap_or(&allowed);
    restrict_to(last)?;
    let outcome = body();
    restrict_to(&allowed)?;
    outcome
}

/// Runs `start`, which starts servers, on one core, and then `body` on the others, so that client and server do not wait
/// for each other's core. Where there is one core only, they share it.
pub fn apart<S, T>(start: impl FnOnce() -> Result<S>, body: impl FnOnce(S) -> Result<T>) -> Result<T> {
    let allowed = allowed()?;
    let started = on_last_core(start)?;
    let others = others(&allowed);
    restrict_to(if others.is_empty() { &allowed } else { &others })?;
    let outcome = body(started);
    restrict_to(&allowed)?;
    outcome
}

/// The list without its last processor.
fn others(list: &str) -> String {
    match list.rsplit_once([',', '-']) {
        None => String::new(),
        Some((rest, _)) if list[rest.len()..].starts_with(',') => rest.to_owned(),
        Some((rest, last)) => {
            let first = rest.rsplit(',').next().unwrap_or(rest);
            match (first.parse::<usize>(), last.parse::<usize>()) {
                (Ok(first), Ok(last)) if last > first + 1 => format!("{rest}-{}", last - 1),
                _ => rest.to_owned(),
            }
        }
    }
}

/// The list of processors as the kernel writes it, such as `0-3,8`.
fn allowed() -> Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(list.ok_or("the kernel does not say which processors are allowed")?.trim().to_owned())
}

fn restrict_to(list: &str) -> Result<()> {
    change_own("taskset", &["--cpu-list", "--pid", list])
}

/// How the kernel schedules the driver, and what it starts from now on.
fn set_policy(policy: &str) -> Result<()> {
    change_own("chrt", &[policy, "--pid", "0"])
}

fn change_own(program: &str, arguments: &[&str]) -> Result<()> {
    let own = std::process::id().to_string();
    match Command::new(program).args(arguments).arg(&own).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
        Err(error) => Err(format!("{program} (from util-linux) is needed: {error}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::others;

    #[test]
    fn leaves_out_the_last() {
        for (list, rest) in
            [("0", ""), ("0-1", "0"), ("0-3", "0-2"), ("0-3,8", "0-3"), ("0,2-3", "0,2"), ("1,4-6", "1,4-5")]
        {
            assert_eq!(others(list), rest, "{list}");
        }
    }
}
