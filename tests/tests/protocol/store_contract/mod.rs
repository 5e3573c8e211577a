//! The contracts of stores and buses: correct ones pass, and each rule catches a faulty one.
//!
//! A contract is code (`testing::contract`): rules with names, which users run against their own stores. Here they
//! run against ours, against differently built ones, and against faulty ones, so that no rule is vacuous.

mod bus;
mod events;
mod inbox;
mod leases;
mod sessions;
mod tasks;

use tokio::runtime::{Builder, Runtime};

/// A runtime with threads and real time: for buses, which are synchronous and may block.
fn threaded() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A runtime with a paused clock: for stores in memory, whose records then expire without a wait.
fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Asserts that a check fails, and names the rule.
#[track_caller]
fn breaks(runtime: Runtime, rule: &str, check: impl Future<Output = ()> + Send + 'static) {
    let failure = runtime.block_on(async { tokio::spawn(check).await });
    // A bus may hang; it is left behind.
    runtime.shutdown_background();
    let panic = failure.expect_err("the fault was not caught").into_panic();
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(text.starts_with(&format!("the rule “{rule}” is broken: ")), "{text}");
}

/// Asserts that each fault is caught by the rule it breaks, each in a runtime of its own.
fn breaks_each<F: Copy + Send, C: Future<Output = ()> + Send + 'static>(
    runtime: fn() -> Runtime,
    faults: impl IntoIterator<Item = (F, &'static str)>,
    check: impl Fn(F) -> C + Sync,
) {
    std::thread::scope(|scope| {
        for (fault, rule) in faults {
            let check = &check;
            scope.spawn(move || breaks(runtime(), rule, check(fault)));
        }
    });
}
