//! The transitions of a dialogue, one poll at a time. Every waker asserts that it runs outside of the lock.

use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::Server;
use crate::ask::StateBinding;
use crate::ask::rounds::Bounds;
use crate::ask::sealed_state::StateSealer;
use crate::call::run::PendingCall;
use crate::outcome::{Question, Reply};
use crate::task;

/// A waker that counts, and asserts that the dialogue is not locked.
struct Probe {
    dialogue: Arc<Dialogue>,
    wakes: AtomicUsize,
}

impl Probe {
    fn new(dialogue: &Arc<Dialogue>) -> Arc<Self> {
        Arc::new(Probe { dialogue: Arc::clone(dialogue), wakes: AtomicUsize::new(0) })
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }

    fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        self.with(|cx| future.poll(cx))
    }

    fn with<T>(self: &Arc<Self>, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        work(&mut Context::from_waker(&Arc::clone(self).into()))
    }
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        assert!(self.dialogue.state.try_lock().is_ok(), "woken under the lock");
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        assert!(self.dialogue.state.try_lock().is_ok(), "a waker was dropped under the lock");
    }
}

fn dialogue_with(once_results: OnceResults) -> Arc<Dialogue> {
    let binding = StateBinding { server: "test".into(), principal: None, method: "tools/call", params: None };
    let bounds = Bounds { ttl: Duration::from_secs(60), bytes: 10_000, rounds: 10 };
    let rounds = Rounds::new(binding, Arc::new(StateSealer::default()), None, bounds);
    let origin = Origin { once_results, ..Origin::default() };
    Arc::new(Dialogue::new(Channel::Rounds(Box::new(rounds)), origin, &Limits::default()))
}

fn dialogue() -> Arc<Dialogue> {
    dialogue_with(OnceResults::new())
}

fn job(asks_first: bool) -> Arc<Job> {
    Job::for_tests(&Server::new("test", "1.0.0").into_core(), asks_first)
}

/// A dialogue that becomes a task when the handler awaits `start_task`.
fn planned() -> (Arc<Dialogue>, Arc<Job>) {
    let (dialogue, job) = (dialogue(), job(true));
    dialogue.plan(Arc::clone(&job));
    (dialogue, job)
}

fn question() -> Posed {
    let question = Question { method: Question::ELICIT, params: json!({"message": "Sure?"}) };
    Posed { question, repeats: None, limit: None }
}

fn misused<T: std::fmt::Debug>(result: Result<T>) -> bool {
    let error = result.unwrap_err().into_boxed();
    matches!(error.downcast_ref::<AskError>(), Some(AskError::Misused(_)))
}

#[test]
fn phase_transitions_are_those_of_the_diagram() {
    let phases = || {
        [
            Phase::Call,
            Phase::TaskPlanned { dispatcher: None },
            Phase::TaskWanted,
            Phase::Task,
            Phase::Over { was_task: false },
            Phase::Over { was_task: true },
        ]
    };
    let name = |phase: &Phase| match phase {
        Phase::Call => "call",
        Phase::TaskPlanned { .. } => "planned",
        Phase::TaskWanted => "wanted",
        Phase::Task => "task",
        Phase::Over { was_task: false } => "over",
        Phase::Over { was_task: true } => "task over",
    };
    let after = |event: fn(&Phase) -> Option<Phase>| phases().map(|phase| event(&phase).as_ref().map_or("-", name));
    assert_eq!(phases().map(|phase| name(&phase)), ["call", "planned", "wanted", "task", "over", "task over"]);
    assert_eq!(after(|phase| phase.plan(true)), ["planned", "-", "-", "-", "-", "-"]);
    assert_eq!(after(|phase| phase.plan(false)), ["task", "-", "-", "-", "-", "-"]);
    assert_eq!(after(Phase::start_task), ["-", "wanted", "-", "-", "-", "-"]);
    assert_eq!(after(Phase::became), ["-", "-", "task", "-", "-", "-"]);
    assert_eq!(after(Phase::planned_task), ["-", "call", "call", "-", "-", "-"]);
    assert_eq!(after(Phase::end), ["over", "over", "over", "task over", "-", "-"]);
}

#[test]
fn plan_decides_when_the_call_is_a_task() {
    let at_once = dialogue();
    at_once.plan(job(false));
    assert!(at_once.task().is_some());
    let (later, job) = planned();
    assert!(later.task().is_none());
    let probe = Probe::new(&later);
    assert!(probe.with(|cx| later.wanted_task(cx)).is_none());
    assert!(probe.poll(pin!(later.start_task())).is_pending());
    assert!(Arc::ptr_eq(&probe.with(|cx| later.wanted_task(cx)).unwrap(), &job));
}

#[test]
fn start_task_without_a_plan_returns_at_once() {
    let dialogue = dialogue();
    let probe = Probe::new(&dialogue);
    assert!(probe.poll(pin!(dialogue.start_task())).is_ready());
    assert!(probe.with(|cx| dialogue.wanted_task(cx)).is_none() && dialogue.planned_task().is_none());
}

#[test]
fn start_task_twice_wakes_the_dispatcher_once_and_returns_twice() {
    let (dialogue, job) = planned();
    let [stale, dispatcher, one, two] = [(); 4].map(|()| Probe::new(&dialogue));
    for probe in [&stale, &dispatcher] {
        assert!(probe.with(|cx| dialogue.wanted_task(cx)).is_none());
    }
    let (mut first, mut second) = (pin!(dialogue.start_task()), pin!(dialogue.start_task()));
    assert!(one.poll(first.as_mut()).is_pending() && two.poll(second.as_mut()).is_pending());
    assert_eq!((stale.wakes(), dispatcher.wakes()), (0, 1), "the newest waker, once");
    let wanted = dispatcher.with(|cx| dialogue.wanted_task(cx)).unwrap();
    assert!(dialogue.task().is_none(), "not before it is created");
    dialogue.became(&wanted);
    assert_eq!((one.wakes(), two.wakes()), (1, 1));
    assert!(one.poll(first).is_ready() && two.poll(second).is_ready());
    assert!(Arc::ptr_eq(dialogue.task().unwrap(), &job));
    assert!(one.poll(pin!(dialogue.start_task())).is_ready(), "it is one already");
    assert!(dialogue.planned_task().is_none());
}

#[test]
fn handler_that_returns_without_a_task_gives_back_the_plan() {
    for wanted in [false, true] {
        let (dialogue, job) = planned();
        let probe = Probe::new(&dialogue);
        let mut start = pin!(dialogue.start_task());
        if wanted {
            assert!(probe.poll(start.as_mut()).is_pending());
        }
        assert!(Arc::ptr_eq(&dialogue.planned_task().unwrap(), &job));
        assert!(probe.poll(start).is_ready() && dialogue.task().is_none());
        assert!(dialogue.planned_task().is_none(), "once");
    }
}

#[test]
fn end_releases_start_task() {
    let (dialogue, _) = planned();
    let probe = Probe::new(&dialogue);
    let mut start = pin!(dialogue.start_task());
    assert!(probe.poll(start.as_mut()).is_pending());
    dialogue.end();
    assert_eq!(probe.wakes(), 1);
    assert!(probe.poll(start).is_ready() && dialogue.task().is_none());
    assert!(probe.with(|cx| dialogue.wanted_task(cx)).is_none() && dialogue.planned_task().is_none());
}

#[test]
fn end_drops_the_dispatcher_outside_of_the_lock() {
    let (dialogue, _) = planned();
    let dispatcher = Probe::new(&dialogue);
    assert!(dispatcher.with(|cx| dialogue.wanted_task(cx)).is_none());
    drop(dispatcher);
    dialogue.end();
}

#[test]
fn end_fails_an_ask_that_waits() {
    let dialogue = dialogue();
    let probe = Probe::new(&dialogue);
    let mut ask = pin!(dialogue.ask("ask-1", question()));
    assert!(probe.poll(ask.as_mut()).is_pending());
    dialogue.end();
    assert_eq!(probe.wakes(), 1);
    assert_eq!(probe.poll(ask), Poll::Ready(Err(AskError::Disconnected)));
    assert_eq!(probe.poll(pin!(dialogue.ask("ask-2", question()))), Poll::Ready(Err(AskError::Disconnected)));
}

#[test]
fn dropped_ask_leaves_the_round() {
    let dialogue = dialogue();
    let [dispatcher, probe] = [(); 2].map(|()| Probe::new(&dialogue));
    assert!(dispatcher.with(|cx| dialogue.poll_round(cx)).is_pending());
    {
        let mut ask = pin!(dialogue.ask("ask-1", question()));
        assert!(probe.poll(ask.as_mut()).is_pending());
        assert_eq!(dispatcher.wakes(), 1);
    }
    assert!(dispatcher.with(|cx| dialogue.poll_round(cx)).is_pending());
    let mut ask = pin!(dialogue.ask("ask-2", question()));
    assert!(probe.poll(ask.as_mut()).is_pending());
    let Poll::Ready(Ok(Reply::InputRequired { asked, .. })) = dispatcher.with(|cx| dialogue.poll_round(cx)) else {
        panic!("a question is parked");
    };
    assert_eq!(asked.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["ask-2"]);
}

#[test]
fn once_in_progress_holds_the_round() {
    let dialogue = dialogue();
    let [dispatcher, probe] = [(); 2].map(|()| Probe::new(&dialogue));
    let mut ask = pin!(dialogue.ask("ask-1", question()));
    assert!(probe.poll(ask.as_mut()).is_pending());
    {
        let mut once = pin!(dialogue.once("key", std::future::pending::<Result<u8>>()));
        assert!(probe.poll(once.as_mut()).is_pending());
        assert!(dispatcher.with(|cx| dialogue.poll_round(cx)).is_pending());
    }
    assert_eq!(dispatcher.wakes(), 1);
    assert!(dispatcher.with(|cx| dialogue.poll_round(cx)).is_ready());
}

#[test]
fn parked_ask_does_not_move_to_the_task() {
    let (dialogue, job) = planned();
    let probe = Probe::new(&dialogue);
    let (mut ask, mut start) = (pin!(dialogue.ask("ask-1", question())), pin!(dialogue.start_task()));
    assert!(probe.poll(ask.as_mut()).is_pending() && probe.poll(start.as_mut()).is_pending());
    dialogue.became(&job);
    assert!(matches!(probe.poll(ask), Poll::Ready(Err(AskError::Misused(_)))));
    assert!(probe.with(|cx| dialogue.poll_round(cx)).is_pending(), "no other round");
}

#[tokio::test]
async fn ask_after_became_goes_to_the_task() {
    let (dialogue, _) = planned();
    let probe = Probe::new(&dialogue);
    assert!(probe.poll(pin!(dialogue.start_task())).is_pending());
    let job = probe.with(|cx| dialogue.wanted_task(cx)).unwrap();
    let became = Arc::clone(&dialogue);
    let work = PendingCall::new(std::future::pending());
    task::launch(Arc::clone(&job), work, Some(Box::new(move |job| became.settle(job)))).await.unwrap();
    {
        let mut ask = pin!(dialogue.ask("ask-1", question()));
        assert!(probe.poll(ask.as_mut()).is_pending());
        assert!(probe.with(|cx| dialogue.poll_round(cx)).is_pending(), "it is not in a round");
        assert_eq!(job.questions().await, ["ask-1"]);
        assert_eq!(dialogue.state().clock.waiting, 1);
    }
    assert_eq!(dialogue.state().clock.waiting, 0, "dropped");
    let mut ask = pin!(dialogue.ask("ask-2", question()));
    assert!(probe.poll(ask.as_mut()).is_pending());
    dialogue.end();
    assert_eq!(ask.await, Err(AskError::Disconnected));
    assert!(dialogue.task().is_some(), "it was one");
    assert_eq!(dialogue.state().clock.waiting, 0);
}

#[tokio::test]
async fn once_inside_of_a_task_runs_once_and_forbids_asks() {
    let dialogue = dialogue();
    dialogue.plan(job(false));
    assert_eq!(dialogue.once("key", async { Ok(1) }).await.unwrap(), 1);
    assert!(misused(dialogue.once("key", async { Ok(2) }).await), "one key, two blocks");
    let failed: Result<u8> = dialogue.once("failing", async { Err(crate::Error::msg("no")) }).await;
    assert!(failed.is_err());
    assert_eq!(dialogue.once("failing", async { Ok(3) }).await.unwrap(), 3, "a failed block may be tried again");
    let asked = dialogue.once("asking", async { Ok(dialogue.ask("ask-1", question()).await?) });
    assert!(misused(asked.await));
}

thread_local! {
    static LOCKED: RefCell<Option<Arc<Dialogue>>> = const { RefCell::new(None) };
}

/// A value whose `Deserialize` asserts that the dialogue is not locked.
#[derive(Debug, Serialize)]
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dialogue = LOCKED.with(|dialogue| dialogue.borrow().clone()).unwrap();
        assert!(dialogue.state.try_lock().is_ok(), "deserialized under the lock");
        <()>::deserialize(deserializer).map(|()| Checked)
    }
}

#[test]
fn once_returns_the_value_of_an_earlier_run() {
    let dialogue = dialogue_with([("key".to_owned(), Value::Null)].into());
    LOCKED.set(Some(Arc::clone(&dialogue)));
    let probe = Probe::new(&dialogue);
    let mut once = pin!(dialogue.once("key", async { unreachable!("it has run") }));
    assert!(matches!(probe.poll(once.as_mut()), Poll::Ready(Ok(Checked))));
}

#[test]
fn asks_that_wait_at_the_same_time_count_once() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut clock = AnswerClock::default();
    assert_eq!(clock.waited(at(5)), Duration::ZERO);
    clock.start(at(10));
    clock.start(at(12));
    clock.stop(at(13));
    assert_eq!(clock.waited(at(14)), Duration::from_secs(4));
    clock.stop(at(15));
    assert_eq!(clock.waited(at(100)), Duration::from_secs(5));
    clock.start(at(200));
    assert_eq!(clock.waited(at(201)), Duration::from_secs(6));
}
