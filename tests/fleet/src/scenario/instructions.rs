//! Instructions per call of a replica with Redis, beside one that keeps everything in memory: callgrind's total of a run minus
//! that of a shorter one, so that the start cancels out. The count does not depend on what else the machine does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Finding, Findings};
use crate::Result;
use crate::client::MODERN;
use crate::folder::Folder;
use crate::kept_alive::KeptAlive;
use crate::options::Options;
use crate::redis::Redis;
use crate::replica::{Recipe, Replica};

/// The calls of the shorter run. The longer one has as many more.
const CALLS: usize = 1000;

/// What a call may take with Redis. Calls of 2026-07-28 need none, and those of a session in a burst a round trip together.
const MOST: f64 = 1.15;

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let found = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return Err("`instructions` needs `valgrind` on the PATH".into());
    }
    let redis = Redis::start().await?;
    let mut findings = Findings::default();
    for (name, revision) in [("2026-07-28", MODERN), ("session", "2025-11-25")] {
        let alone = per_call(&options.everything, "", revision).await?;
        let shared = per_call(&options.everything, &redis.url(), revision).await?;
        let ratio = shared / alone;
        findings.notes.push(format!(
            "instructions: {shared:.0} per call with Redis, {alone:.0} in memory, {ratio:.2} times as many ({name})"
        ));
        let misses = (ratio > MOST).then(|| format!("{ratio:.2} times those in memory, at most {MOST}"));
        findings.items.push(Finding { name: format!("instructions/{name}"), misses: misses.into_iter().collect() });
    }
    Ok(findings)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
async fn per_call(program: &Path, redis: &str, revision: &'static str) -> Result<f64> {
    let short = count(program, redis, revision, CALLS).await?;
    let long = count(program, redis, revision, 2 * CALLS).await?;
    Ok(long.saturating_sub(short) as f64 / CALLS as f64)
}

/// The instructions of a process that serves so many calls.
async fn count(program: &Path, redis: &str, revision: &'static str, calls: usize) -> Result<u64> {
    let folder = Folder::new()?;
    let (counted, totals) = (folder.0.join("counted"), folder.0.join("callgrind"));
    let script = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file='{}' '{}' \"$@\"\n",
        totals.display(),
        program.display()
    );
    fs::write(&counted, script)?;
    fs::set_permissions(&counted, fs::Permissions::from_mode(0o755))?;
    let (log, effects) = (folder.0.join("log"), folder.0.join("effects"));
    let recipe = Recipe { program: counted, redis: redis.to_owned(), wait: 0, log, effects, session_idle: None };
    let mut replica = Replica::start(recipe).await?;
    let mut client = KeptAlive::to(&[replica.address], revision).await?;
    for _ in 0..calls {
        client.call().await?;
    }
    replica.shut_down().await?;
    let written = fs::read_to_string(totals)?;
    let total = written.lines().find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok());
    total.ok_or_else(|| "callgrind gave no total".into())
}
