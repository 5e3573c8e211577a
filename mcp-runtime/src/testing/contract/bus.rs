//! What a bus must do.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::{Verdict, ensure, rule};
use crate::store::{Change, ChangeBus, ChangeListener};

/// How long something may be under way.
const SOON: Duration = Duration::from_secs(5);
/// How long is waited for what should not come.
const SHORT: Duration = Duration::from_millis(200);

/// Checks that a [`ChangeBus`] does what it should; panics with the rule that it breaks.
pub async fn bus<B: ChangeBus>(make: impl Fn() -> B) {
    let make = || -> Arc<dyn ChangeBus> { Arc::new(make()) };
    rule("everyone is told, of everything, once", told_once(make())).await;
    rule("changes come in the order they were published", in_order(make())).await;
    rule("who is dropped is let go, and the others are told", let_go(make())).await;
    rule("who is told may publish", publishes_when_told(make())).await;
    rule("who is told may bring another listener", subscribes_when_told(make())).await;
    rule("several may publish and come at a time", crowded(make())).await;
}

/// Writes down what it is told.
#[derive(Default)]
struct Witness(Mutex<Vec<Change>>);

impl Witness {
    fn told(&self) -> Vec<Change> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was told, when that is so much, or when it takes too long. A bus may need a while.
    async fn hears(&self, count: usize) -> Vec<Change> {
        let begun = Instant::now();
        while self.told().len() < count && begun.elapsed() < SOON {
            sleep(Duration::from_millis(2)).await;
        }
        self.told()
    }
}

impl ChangeListener for Witness {
    fn changed(&self, change: &Change) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(change.clone());
    }
}

fn witness(bus: &Arc<dyn ChangeBus>) -> Arc<Witness> {
    let witness = Arc::new(Witness::default());
    subscribe(bus, &witness);
    witness
}

fn subscribe<L: ChangeListener + 'static>(bus: &Arc<dyn ChangeBus>, listener: &Arc<L>) {
    let weak: Weak<L> = Arc::downgrade(listener);
    bus.subscribe(weak);
}

fn updated(name: impl std::fmt::Display) -> Change {
    Change::ResourceUpdated(format!("note://{name}"))
}

/// Does something that may hang, on a thread that may be left behind.
async fn apart(act: impl FnOnce() + Send + 'static) -> bool {
    let ((done, waiting), runtime) = (oneshot::channel(), Handle::current());
    std::thread::spawn(move || {
        let _entered = runtime.enter();
        act();
        let _ = done.send(());
    });
    matches!(timeout(SOON, waiting).await, Ok(Ok(())))
}

async fn told_once(bus: Arc<dyn ChangeBus>) -> Verdict {
    let all =
        [Change::ToolList, Change::PromptList, Change::ResourceList, updated("1"), updated("ü?a=b"), Change::ToolList];
    let witnesses: Vec<_> = (0..3).map(|_| witness(&bus)).collect();
    for change in &all {
        bus.publish(change);
    }
    for witness in &witnesses {
        let told = witness.hears(all.len()).await;
        ensure!(told == all, "{all:?} was published, and {told:?} told");
    }
    sleep(SHORT).await;
    for witness in &witnesses {
        ensure!(witness.told().len() == all.len(), "a listener was told something twice");
    }
    Ok(())
}

async fn in_order(bus: Arc<dyn ChangeBus>) -> Verdict {
    const ALL: usize = 200;
    let witness = witness(&bus);
    for number in 0..ALL {
        bus.publish(&updated(number));
    }
    let told = witness.hears(ALL).await;
    let wrong = told.iter().enumerate().find(|(number, change)| **change != updated(number));
    ensure!(
        wrong.is_none() && told.len() == ALL,
        "{} of {ALL} were told; the first out of place: {wrong:?}",
        told.len()
    );
    Ok(())
}

async fn let_go(bus: Arc<dyn ChangeBus>) -> Verdict {
    let (first, gone, last) = (witness(&bus), witness(&bus), witness(&bus));
    let weak = Arc::downgrade(&gone);
    drop(gone);
    ensure!(weak.upgrade().is_none(), "the bus keeps a listener that was dropped");
    bus.publish(&Change::ToolList);
    for witness in [first, last] {
        let told = witness.hears(1).await;
        ensure!(told == [Change::ToolList], "another was dropped, and a listener was told {told:?}");
    }
    Ok(())
}

/// Does something when it is told of tools.
struct Acting<F>(Arc<dyn ChangeBus>, F);

impl<F: Fn(&Arc<dyn ChangeBus>) + Send + Sync> ChangeListener for Acting<F> {
    fn changed(&self, change: &Change) {
        if *change == Change::ToolList {
            (self.1)(&self.0);
        }
    }
}

async fn publishes_when_told(bus: Arc<dyn ChangeBus>) -> Verdict {
    let witness = witness(&bus);
    let acting = Arc::new(Acting(Arc::clone(&bus), |bus: &Arc<dyn ChangeBus>| bus.publish(&Change::PromptList)));
    subscribe(&bus, &acting);
    ensure!(apart(move || bus.publish(&Change::ToolList)).await, "`publish` does not return");
    let told = witness.hears(2).await;
    ensure!(told.len() == 2 && told.contains(&Change::PromptList), "tools and prompts changed, and {told:?} was told");
    Ok(())
}

async fn subscribes_when_told(bus: Arc<dyn ChangeBus>) -> Verdict {
    let late = Arc::new(Witness::default());
    let brought = Arc::clone(&late);
    let acting = Arc::new(Acting(Arc::clone(&bus), move |bus: &Arc<dyn ChangeBus>| subscribe(bus, &brought)));
    subscribe(&bus, &acting);
    let sure = witness(&bus);
    let publishing = Arc::clone(&bus);
    ensure!(apart(move || publishing.publish(&Change::ToolList)).await, "`publish` does not return");
    sure.hears(1).await;
    bus.publish(&Change::PromptList);
    let begun = Instant::now();
    while !late.told().contains(&Change::PromptList) {
        ensure!(begun.elapsed() < SOON, "the listener that was brought is not told");
        sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn crowded(bus: Arc<dyn ChangeBus>) -> Verdict {
    const EACH: usize = 50;
    let sure = witness(&bus);
    let crowd = (0..4).map(|who| {
        let bus = Arc::clone(&bus);
        apart(move || {
            for number in 0..EACH {
                drop(witness(&bus));
                bus.publish(&updated(format_args!("{who}/{number}")));
            }
        })
    });
    let mut crowd: Vec<_> = crowd.map(|one| tokio::spawn(one)).collect();
    while let Some(one) = crowd.pop() {
        ensure!(one.await.map_err(std::io::Error::other)?, "`publish` or `subscribe` does not return");
    }
    let told = sure.hears(4 * EACH).await;
    for who in 0..4 {
        let own = told.iter().filter(
            |change| matches!(change, Change::ResourceUpdated(uri) if uri.starts_with(&format!("note://{who}/"))),
        );
        let expected: Vec<_> = (0..EACH).map(|number| updated(format_args!("{who}/{number}"))).collect();
        ensure!(own.eq(&expected), "what one of four published is told in another order, or not at all");
    }
    Ok(())
}
