//! The contracts of stores and buses: correct ones pass, and each rule catches a faulty one.

mod bus;
mod events;
mod sessions;
mod tasks;

/// Asserts that a check fails, and names the rule.
#[track_caller]
fn breaks(rule: &str, check: impl Future<Output = ()> + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let failure = runtime.block_on(async { tokio::spawn(check).await });
    // A bus may hang; it is left behind.
    runtime.shutdown_background();
    let panic = failure.expect_err("nothing was found").into_panic();
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(text.starts_with(&format!("the rule “{rule}” is broken: ")), "{text}");
}

/// Asserts that each fault is caught by the rule it breaks.
fn breaks_each<F: Copy + Send, C: Future<Output = ()> + Send + 'static>(
    faults: impl IntoIterator<Item = (F, &'static str)>,
    check: impl Fn(F) -> C + Sync,
) {
    std::thread::scope(|scope| {
        for (fault, rule) in faults {
            let check = &check;
            scope.spawn(move || breaks(rule, check(fault)));
        }
    });
}
