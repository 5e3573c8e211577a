//! Every feature through the proxy: each message of a client reaches another replica than the one before.

mod asks;
mod changes;
mod sessions;
mod streams;
mod tasks;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Finding, Findings};
use crate::Result;
use crate::client::{LEGACY, MODERN};
use crate::options::Options;
use crate::redis::Redis;
use crate::site::Site;

/// How long one of them may take.
const LONGEST: Duration = Duration::from_secs(10);

const ALL: &[&str] = &[LEGACY[0], LEGACY[1], LEGACY[2], MODERN];
const FORMS: &[&str] = &[LEGACY[1], LEGACY[2]];
const TASKS: &[&str] = &[LEGACY[2], MODERN];

/// The features, and the revisions that have them.
pub(crate) const FEATURES: &[(&str, &[&str])] = &[
    ("calls", ALL),
    ("progress", ALL),
    ("log-level", &LEGACY),
    ("delete", &LEGACY),
    ("list-change", ALL),
    ("subscription", ALL),
    ("one-get-stream", &LEGACY),
    ("resume", &LEGACY),
    ("resume-running", &LEGACY),
    ("resume-closed", &LEGACY),
    ("cancel", &LEGACY),
    ("elicitation", FORMS),
    ("elicitation-resumed", FORMS),
    ("sampling", &LEGACY),
    ("roots", &LEGACY),
    ("rounds", &[MODERN]),
    ("rounds-together", &[MODERN]),
    ("task-result", TASKS),
    ("task-cancel", TASKS),
    ("task-asks", TASKS),
];

/// Those that look for a change, which another client must not make.
pub(super) const ALONE: &[&str] = &["list-change", "subscription"];

/// Revisions at once, each with a proxy of its own, so that turns are taken in order; then what has to be alone.
pub(crate) async fn run(options: &Options) -> Result<Findings> {
    let redis = Redis::start().await?;
    let site = Site::start(options, &redis).await?;
    let mut lanes = JoinSet::new();
    for revision in ALL {
        let proxy = site.another_proxy().await?;
        let wanted: Vec<&str> = selected(options, revision).filter(|feature| !ALONE.contains(feature)).collect();
        lanes.spawn(async move {
            let proxy = proxy;
            lane(proxy.address, revision, wanted).await
        });
    }
    let mut outcomes = lanes.join_all().await.concat();
    for revision in ALL {
        let wanted = selected(options, revision).filter(|feature| ALONE.contains(feature)).collect();
        outcomes.extend(lane(site.address(), revision, wanted).await);
    }
    outcomes.sort_unstable_by_key(|(_, revision, _)| *revision);
    let mut findings = Findings::default();
    let passed = outcomes.iter().filter(|(.., failure)| failure.is_none()).count();
    for (feature, _) in FEATURES.iter().filter(|(feature, _)| options.wants(feature)) {
        let of_it = outcomes.iter().filter(|(name, ..)| name == feature);
        let misses = of_it.filter_map(|(_, revision, failure)| Some(format!("{revision}: {}", failure.as_ref()?)));
        findings.items.push(Finding { name: format!("features/{feature}"), misses: misses.collect() });
    }
    findings.notes.push(format!("features: {passed} of {} pass, counted in each revision", outcomes.len()));
    Ok(findings)
}

/// The features that a revision has.
pub(super) fn of(revision: &str) -> impl Iterator<Item = &'static str> {
    FEATURES.iter().filter(move |(_, revisions)| revisions.contains(&revision)).map(|(feature, _)| *feature)
}

fn selected(options: &Options, revision: &str) -> impl Iterator<Item = &'static str> {
    of(revision).filter(|feature| options.wants(feature))
}

/// Features of a revision, one after the other, and how each failed.
pub(super) async fn lane(
    address: SocketAddr,
    revision: &'static str,
    wanted: Vec<&'static str>,
) -> Vec<(&'static str, &'static str, Option<String>)> {
    let mut outcomes = Vec::new();
    for feature in wanted {
        let outcome = timeout(LONGEST, check(feature, address, revision)).await;
        let failure = outcome.unwrap_or_else(|_| Err("it takes too long".into())).err();
        outcomes.push((feature, revision, failure.map(|error| error.to_string())));
    }
    outcomes
}

async fn check(feature: &str, address: SocketAddr, revision: &'static str) -> Result<()> {
    let modern = revision == MODERN;
    match feature {
        "calls" => sessions::calls(address, revision).await,
        "progress" => streams::progress(address, revision).await,
        "log-level" => sessions::log_level(address, revision).await,
        "delete" => sessions::delete(address, revision).await,
        "list-change" if modern => changes::listened_list(address).await,
        "list-change" => changes::list(address, revision).await,
        "subscription" if modern => changes::listened_resource(address).await,
        "subscription" => changes::resource(address, revision).await,
        "one-get-stream" => streams::one_get_stream(address, revision).await,
        "resume" => streams::resume(address, revision).await,
        "resume-running" => streams::resume_running(address, revision).await,
        "resume-closed" => streams::resume_closed(address, revision).await,
        "cancel" => streams::cancel(address, revision).await,
        "elicitation" => asks::elicitation(address, revision, false).await,
        "elicitation-resumed" => asks::elicitation(address, revision, true).await,
        "sampling" => asks::sampling(address, revision).await,
        "roots" => asks::roots(address, revision).await,
        "rounds" => asks::rounds(address).await,
        "rounds-together" => asks::rounds_together(address).await,
        "task-result" => tasks::result(address, revision).await,
        "task-cancel" => tasks::cancel(address, revision).await,
        "task-asks" if modern => tasks::asks_for_update(address).await,
        "task-asks" => tasks::asks_whoever_waits(address, revision).await,
        unknown => Err(format!("no feature `{unknown}`").into()),
    }
}

/// Fails with what there was instead.
fn ensure(holds: bool, instead: impl std::fmt::Display) -> Result<()> {
    if holds { Ok(()) } else { Err(instead.to_string().into()) }
}
