//! Which processors the driver, and with it every server it starts, may run on.

use std::{fs, process::Command};

use crate::Result;

/// Runs `body` with the driver and its children on one core.
///
/// Waking a thread on another core can cost several times the call that is measured, and whether it happens is up
/// to the scheduler. On one core that coin is not tossed, and the figures repeat within a few percent.
pub fn on_one_core<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let allowed = allowed()?;
    let last = allowed.rsplit([',', '-']).next().unwrap_or(&allowed);
    restrict_to(last)?;
    let outcome = body();
    restrict_to(&allowed)?;
    outcome
}

/// The list of processors as the kernel writes it, such as `0-3,8`.
fn allowed() -> Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(list.ok_or("the kernel does not say which processors are allowed")?.trim().to_owned())
}

fn restrict_to(list: &str) -> Result<()> {
    let own = std::process::id().to_string();
    let output = Command::new("taskset").args(["--cpu-list", "--pid", list, &own]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("taskset failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
        Err(error) => Err(format!("taskset (from util-linux) is needed: {error}").into()),
    }
}
