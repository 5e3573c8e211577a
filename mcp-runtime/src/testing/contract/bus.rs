//! The contract of a change bus.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::{Verdict, ensure, rule};
use crate::store::{Change, ChangeBus, ChangeListener};
use crate::sync::lock;

/// How long delivery may take.
const SOON: Duration = Duration::from_secs(5);
/// How long to wait for a delivery that must not happen.
const SHORT: Duration = Duration::from_millis(200);

/// Checks a [`ChangeBus`]; panics with the first rule it breaks.
pub async fn bus<B: ChangeBus>(make: impl Fn() -> B) {
    let make = || -> Arc<dyn ChangeBus> { Arc::new(make()) };
    rule("every listener receives every change once", delivered_once(make())).await;
    rule("changes arrive in the order of publication", in_order(make())).await;
    rule("a dropped listener is released and the others keep receiving", dropped_listener(make())).await;
    rule("a listener may publish", publishing_listener(make())).await;
    rule("a listener may subscribe another listener", subscribing_listener(make())).await;
    rule("publishing and subscribing are thread-safe", concurrent_use(make())).await;
}

/// A listener that records the changes it receives.
#[derive(Default)]
struct Recorder(Mutex<Vec<Change>>);

impl Recorder {
    fn received(&self) -> Vec<Change> {
        lock(&self.0).clone()
    }

    /// Waits until this many changes have arrived or time is up, and returns those received. A bus may
    /// deliver asynchronously.
    async fn receives(&self, count: usize) -> Vec<Change> {
        let begun = Instant::now();
        while self.received().len() < count && begun.elapsed() < SOON {
            sleep(Duration::from_millis(2)).await;
        }
        self.received()
    }
}

impl ChangeListener for Recorder {
    fn changed(&self, change: &Change) {
        lock(&self.0).push(change.clone());
    }
}

fn recorder(bus: &Arc<dyn ChangeBus>) -> Arc<Recorder> {
    let recorder = Arc::new(Recorder::default());
    subscribe(bus, &recorder);
    recorder
}

fn subscribe<L: ChangeListener + 'static>(bus: &Arc<dyn ChangeBus>, listener: &Arc<L>) {
    let weak: Weak<L> = Arc::downgrade(listener);
    bus.subscribe(weak);
}

fn updated(name: impl std::fmt::Display) -> Change {
    Change::ResourceUpdated(format!("note://{name}"))
}

/// Runs code that may hang, on a thread that may be left behind. Whether it returned.
async fn on_thread(act: impl FnOnce() + Send + 'static) -> bool {
    let ((done, waiting), runtime) = (oneshot::channel(), Handle::current());
    std::thread::spawn(move || {
        let _entered = runtime.enter();
        act();
        let _ = done.send(());
    });
    matches!(timeout(SOON, waiting).await, Ok(Ok(())))
}

async fn delivered_once(bus: Arc<dyn ChangeBus>) -> Verdict {
    let all = [
        Change::ToolList,
        Change::PromptList,
        Change::ResourceList,
        updated("1"),
        updated("ü?a=b"),
        Change::Task("a task".into()),
        Change::SessionEnded("a digest".into()),
        Change::SessionChanged("a digest".into(), u64::MAX),
        Change::SessionMessage("a digest".into(), u64::MAX),
        Change::All,
        Change::ToolList,
    ];
    let recorders: Vec<_> = (0..3).map(|_| recorder(&bus)).collect();
    for change in &all {
        bus.publish(change);
    }
    for recorder in &recorders {
        let received = recorder.receives(all.len()).await;
        ensure!(received == all, "published {all:?}, received {received:?}");
    }
    sleep(SHORT).await;
    for recorder in &recorders {
        ensure!(recorder.received().len() == all.len(), "a listener received a change twice");
    }
    Ok(())
}

async fn in_order(bus: Arc<dyn ChangeBus>) -> Verdict {
    const ALL: usize = 200;
    let recorder = recorder(&bus);
    for number in 0..ALL {
        bus.publish(&updated(number));
    }
    let received = recorder.receives(ALL).await;
    let wrong = received.iter().enumerate().find(|(number, change)| **change != updated(number));
    ensure!(
        wrong.is_none() && received.len() == ALL,
        "{} of {ALL} were received; the first out of order: {wrong:?}",
        received.len()
    );
    Ok(())
}

async fn dropped_listener(bus: Arc<dyn ChangeBus>) -> Verdict {
    let (first, gone, last) = (recorder(&bus), recorder(&bus), recorder(&bus));
    let weak = Arc::downgrade(&gone);
    drop(gone);
    ensure!(weak.upgrade().is_none(), "the bus keeps a dropped listener alive");
    bus.publish(&Change::ToolList);
    for recorder in [first, last] {
        let received = recorder.receives(1).await;
        ensure!(received == [Change::ToolList], "after another was dropped, a listener received {received:?}");
    }
    Ok(())
}

/// A listener that runs a function when the tool list changes.
struct Acting<F>(Arc<dyn ChangeBus>, F);

impl<F: Fn(&Arc<dyn ChangeBus>) + Send + Sync> ChangeListener for Acting<F> {
    fn changed(&self, change: &Change) {
        if *change == Change::ToolList {
            (self.1)(&self.0);
        }
    }
}

async fn publishing_listener(bus: Arc<dyn ChangeBus>) -> Verdict {
    let recorder = recorder(&bus);
    let acting = Arc::new(Acting(Arc::clone(&bus), |bus: &Arc<dyn ChangeBus>| bus.publish(&Change::PromptList)));
    subscribe(&bus, &acting);
    ensure!(on_thread(move || bus.publish(&Change::ToolList)).await, "`publish` does not return");
    let received = recorder.receives(2).await;
    ensure!(
        received.len() == 2 && received.contains(&Change::PromptList),
        "published tools and prompts, received {received:?}"
    );
    Ok(())
}

async fn subscribing_listener(bus: Arc<dyn ChangeBus>) -> Verdict {
    let late = Arc::new(Recorder::default());
    let subscribed = Arc::clone(&late);
    let acting = Arc::new(Acting(Arc::clone(&bus), move |bus: &Arc<dyn ChangeBus>| subscribe(bus, &subscribed)));
    subscribe(&bus, &acting);
    let sure = recorder(&bus);
    let publishing = Arc::clone(&bus);
    ensure!(on_thread(move || publishing.publish(&Change::ToolList)).await, "`publish` does not return");
    sure.receives(1).await;
    bus.publish(&Change::PromptList);
    let begun = Instant::now();
    while !late.received().contains(&Change::PromptList) {
        ensure!(begun.elapsed() < SOON, "the new listener receives nothing");
        sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn concurrent_use(bus: Arc<dyn ChangeBus>) -> Verdict {
    const EACH: usize = 50;
    let sure = recorder(&bus);
    let crowd = (0..4).map(|who| {
        let bus = Arc::clone(&bus);
        on_thread(move || {
            for number in 0..EACH {
                drop(recorder(&bus));
                bus.publish(&updated(format_args!("{who}/{number}")));
            }
        })
    });
    let mut crowd: Vec<_> = crowd.map(|one| tokio::spawn(one)).collect();
    while let Some(one) = crowd.pop() {
        ensure!(one.await.map_err(std::io::Error::other)?, "`publish` or `subscribe` does not return");
    }
    let received = sure.receives(4 * EACH).await;
    for who in 0..4 {
        let own = received.iter().filter(
            |change| matches!(change, Change::ResourceUpdated(uri) if uri.starts_with(&format!("note://{who}/"))),
        );
        let expected: Vec<_> = (0..EACH).map(|number| updated(format_args!("{who}/{number}"))).collect();
        ensure!(own.eq(&expected), "changes of one of four publishers are lost or out of order");
    }
    Ok(())
}
