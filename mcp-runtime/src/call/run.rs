//! Runs handlers: the first poll on the thread that read the message, the rest in a task, `blocking` ones on threads
//! of their own.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::Span;

use crate::ask::Dialogue;
use crate::call::blocking::BlockingProfile;
use crate::call::blocking::call_turns::CallTurns;
use crate::call::telemetry::log::CallLog;
use crate::outcome::{BlockingWork, Failure, Outcome, Reply, Step, Work};
use crate::panic::catch;
use crate::server::core::Core;
use crate::sync::{spawn, spawn_thread};
use crate::task;
use crate::throttle;
use crate::throttle::refusal::Throttled;

/// A call that has been routed: the handler's first step, and its timeout.
pub(crate) struct Started {
    pub(crate) step: Step,
    pub(crate) timeout: Option<Duration>,
    pub(crate) dialogue: Option<Arc<Dialogue>>,
    /// The handler's profile, if it is a future.
    pub(crate) blocking: Option<Arc<BlockingProfile>>,
}

impl From<Reply> for Started {
    fn from(reply: Reply) -> Self {
        Started { step: Step::Ready(Ok(reply)), timeout: None, dialogue: None, blocking: None }
    }
}

/// The result of a call's first poll.
pub(crate) enum FirstPoll {
    Done(Outcome),
    /// It was refused before its handler ran.
    Refused(Failure),
    Pending(PendingCall),
}

/// A call that is pending after its first poll.
#[derive(Debug)]
pub(crate) struct PendingCall {
    future: GuardedFuture,
    timeout: Option<Duration>,
    log: Option<CallLog>,
}

/// A handler's future. Panics are caught when it is polled, and when it is dropped.
struct GuardedFuture {
    future: Option<Work>,
    /// The dialogue with the client, if the handler has a context.
    dialogue: Option<Arc<Dialogue>>,
    /// The handler's profile, if there is a handler.
    blocking: Option<Arc<BlockingProfile>>,
}

impl GuardedFuture {
    fn new(future: Work, dialogue: Option<Arc<Dialogue>>, blocking: Option<Arc<BlockingProfile>>) -> Self {
        GuardedFuture { future: Some(future), dialogue, blocking }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(future) = &mut self.future else { return Poll::Ready(Err(Failure::Panicked)) };
        let mut poll = || future.as_mut().poll(cx);
        let polled = catch(|| match &self.blocking {
            Some(blocking) => blocking.run(poll, Poll::is_ready),
            None => poll(),
        });
        match polled.unwrap_or(Poll::Ready(Err(Failure::Panicked))) {
            Poll::Pending => self.on_pending(cx),
            Poll::Ready(answer) => self.on_ready(answer, cx),
        }
    }

    /// The handler has returned. If its answer is owed as a task and it has not become one, it becomes one now.
    fn on_ready(&mut self, answer: Outcome, cx: &mut Context<'_>) -> Poll<Outcome> {
        let job = self.dialogue.as_ref().and_then(|dialogue| dialogue.planned_task());
        let Some(job) = job.filter(|job| job.is_owed(&answer)) else { return Poll::Ready(answer) };
        self.future = Some(task::launch(job, PendingCall::new(async { answer }), None));
        self.poll(cx)
    }

    /// The handler waits: for I/O, for another round of answers, or to become a task.
    fn on_pending(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(dialogue) = &self.dialogue else { return Poll::Pending };
        // A round goes first: questions asked before `start_task` belong to the call, not to the task.
        if let Poll::Ready(round) = dialogue.poll_round(cx) {
            return Poll::Ready(round);
        }
        let Some(job) = dialogue.wanted_task(cx) else { return Poll::Pending };
        let (Some(future), dialogue) = (self.future.take(), self.dialogue.take()) else { return Poll::Pending };
        let rest = GuardedFuture::new(future, dialogue.clone(), self.blocking.take());
        let work = PendingCall { future: rest, timeout: job.timeout, log: None };
        let ready = dialogue.map(|dialogue| -> task::Ready { Box::new(move |job| dialogue.settle(job)) });
        self.future = Some(task::launch(job, work, ready));
        self.poll(cx)
    }
}

impl fmt::Debug for GuardedFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedFuture")
    }
}

impl Drop for GuardedFuture {
    fn drop(&mut self) {
        let dropped = DroppedCall { future: self.future.take(), dialogue: self.dialogue.take() };
        if dropped.is_in_once() {
            dropped.finish_once();
        }
    }
}

/// A call that nobody waits for any more: its client has left or cancelled it, or it has timed out.
struct DroppedCall {
    future: Option<Work>,
    dialogue: Option<Arc<Dialogue>>,
}

/// The dropped calls of a process that finish their `once` blocks at the same time.
static FINISHING: Semaphore = Semaphore::const_new(256);

impl DroppedCall {
    /// Whether it is in the middle of an effect that a retry must not repeat.
    fn is_in_once(&self) -> bool {
        self.future.is_some() && self.dialogue.as_ref().is_some_and(|dialogue| dialogue.is_in_claimed_once())
    }

    /// Runs the handler on until its `once` block returns: a client that retries gets the result. Interrupted halfway,
    /// the effect might have happened, and the retry would repeat it.
    fn finish_once(mut self) {
        let (Ok(_), Ok(permit)) = (Handle::try_current(), FINISHING.try_acquire()) else { return };
        let limit = self.dialogue.as_ref().map_or(Duration::ZERO, |dialogue| dialogue.answer_timeout());
        spawn(async move {
            let once = std::future::poll_fn(|cx| {
                let Some(future) = &mut self.future else { return Poll::Ready(()) };
                let ended = catch(|| future.as_mut().poll(cx)).is_none_or(|step| step.is_ready());
                if ended || !self.is_in_once() { Poll::Ready(()) } else { Poll::Pending }
            });
            // After the limit nobody can retry.
            let _ = tokio::time::timeout(limit, once).await;
            drop((self, permit));
        });
    }
}

impl Drop for DroppedCall {
    fn drop(&mut self) {
        let future = self.future.take();
        catch(|| drop(future));
        if let Some(dialogue) = &self.dialogue {
            dialogue.end();
        }
    }
}

/// Starts a call: a synchronous handler runs to its end, an `async` one until its first `.await` that is pending. A
/// handler that may have to wait is started only if `has_room`.
///
/// The first poll has no waker. A pending call is polled again by the task it becomes, so no wake-up is lost.
#[inline]
pub(crate) fn start(
    blocking_threads: &BlockingThreads,
    log: Option<CallLog>,
    mut has_room: impl FnMut() -> bool,
    call: impl FnOnce() -> Result<Started, Failure>,
) -> FirstPoll {
    let Started { step, timeout, dialogue, blocking } = match catch(|| CallLog::with(log.as_ref(), call)) {
        Some(Ok(started)) => started,
        Some(Err(failure)) => return FirstPoll::Refused(failure),
        None => return FirstPoll::Done(Err(Failure::Panicked)),
    };
    match step {
        Step::Ready(answer) => {
            if let Some(dialogue) = dialogue {
                dialogue.end();
            }
            FirstPoll::Done(answer)
        }
        // Rejected before any of it has run, so that the client can safely retry.
        Step::Future(_) | Step::Blocking(_) if !has_room() => FirstPoll::Refused(too_many()),
        Step::Future(future) => {
            poll_first(PendingCall { future: GuardedFuture::new(future, dialogue, blocking), timeout, log })
        }
        Step::Blocking(work) => match start_blocking(blocking_threads, log, work) {
            Ok(done) => {
                let future = GuardedFuture::new(done, dialogue, None);
                FirstPoll::Pending(PendingCall { future, timeout, log: None })
            }
            Err(failure) => FirstPoll::Refused(failure),
        },
    }
}

fn poll_first(mut call: PendingCall) -> FirstPoll {
    let future = &mut call.future;
    match CallLog::with(call.log.as_ref(), || future.poll(&mut Context::from_waker(Waker::noop()))) {
        Poll::Ready(answer) => FirstPoll::Done(answer),
        Poll::Pending => FirstPoll::Pending(call),
    }
}

/// Runs a `blocking` handler on a thread of its own.
pub(crate) fn start_blocking(
    threads: &BlockingThreads,
    log: Option<CallLog>,
    work: BlockingWork,
) -> Result<Work, Failure> {
    let done = threads.start(with_subscriber(log, work))?;
    Ok(Box::pin(async move { done.await.ok().flatten().unwrap_or(Err(Failure::Panicked)) }))
}

/// Runs a `blocking` handler inside of layers, whose log is the current one.
pub(crate) fn run_blocking(threads: &BlockingThreads, work: BlockingWork) -> Result<Work, Failure> {
    let work = match throttle::current::current() {
        None => work,
        // The thread keeps the place of its call, even if the call has timed out.
        Some(place) => Box::new(move || {
            let _place = place;
            work()
        }),
    };
    start_blocking(threads, CallLog::current(), work)
}

/// Wraps work for another thread. It runs in the span it was begun in there, too. If there is one, or if the call's
/// `tracing` events go to its client, they go to this thread's subscriber.
fn with_subscriber<T>(log: Option<CallLog>, work: impl FnOnce() -> T) -> impl FnOnce() -> Option<T> {
    let span = Some(Span::current()).filter(|span| !span.is_none());
    let is_followed = log.is_some() || span.is_some();
    let subscriber = is_followed.then(|| tracing::dispatcher::get_default(tracing::Dispatch::clone));
    move || {
        let _default = subscriber.as_ref().map(tracing::dispatcher::set_default);
        let _entered = span.map(Span::entered);
        catch(|| CallLog::with(log.as_ref(), work))
    }
}

/// The threads of `blocking` handlers.
///
/// Not Tokio's pool: a runtime waits for its pool at shutdown, so a handler that never returns would keep the process
/// from exiting. These threads are detached. A handler that has timed out still occupies its thread, and still counts.
#[derive(Debug, Clone)]
pub(crate) struct BlockingThreads(Arc<Semaphore>);

impl BlockingThreads {
    pub(crate) fn new(limit: usize) -> Self {
        BlockingThreads(Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))))
    }

    /// Counts a thread that a handler occupies.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| busy())
    }

    fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, Failure> {
        let permit = self.permit()?;
        let runtime = Handle::current();
        let (sender, done) = oneshot::channel();
        let body = move || {
            let _in_runtime = runtime.enter();
            // The receiver is gone if the call has timed out.
            let _ = sender.send(work());
            drop(permit);
        };
        spawn_thread("mcp-blocking", Box::new(body)).map_err(|_| busy())?;
        Ok(done)
    }
}

/// The answer to a call for which there is no thread.
fn busy() -> Failure {
    Failure::Throttled(Box::new(Throttled::no_thread()))
}

/// The answer to a call of a client that has too many in flight.
fn too_many() -> Failure {
    Failure::Throttled(Box::new(Throttled::too_many("Too many calls in flight: wait for an answer, then try again")))
}

impl PendingCall {
    /// A pending call without a handler, like a subscription stream.
    pub(crate) fn new(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        PendingCall { future: GuardedFuture::new(Box::pin(future), None, None), timeout: None, log: None }
    }

    /// A call that runs as a task. None of it runs before it is polled.
    pub(crate) fn of_task(core: Arc<Core>, started: Started) -> Self {
        let Started { step, timeout, dialogue, blocking } = started;
        let work: Work = match step {
            Step::Ready(answer) => Box::pin(async { answer }),
            Step::Future(future) => future,
            Step::Blocking(work) => Box::pin(async move { start_blocking(&core.blocking_threads, None, work)?.await }),
        };
        PendingCall { future: GuardedFuture::new(work, dialogue, blocking), timeout, log: None }
    }

    /// The profile of the handler, if that is a future.
    pub(crate) fn profile(&self) -> Option<&Arc<BlockingProfile>> {
        self.future.blocking.as_ref()
    }

    /// Sets the timeout.
    pub(crate) fn within(self, timeout: Option<Duration>) -> Self {
        PendingCall { timeout, ..self }
    }

    /// Runs the call to its end. What comes with its outcome encodes it.
    pub(crate) async fn finish(mut self) -> (Outcome, CallTurns) {
        let dialogue = self.future.dialogue.clone();
        let mut turns = CallTurns::new(self.future.blocking.clone());
        let (future, log) = (&mut self.future, self.log.as_ref());
        let answer = std::future::poll_fn(|cx| turns.poll(cx, |cx| CallLog::with(log, || future.poll(cx))));
        let outcome = match self.timeout {
            None => answer.await,
            Some(limit) => tokio::select! {
                biased;
                answer = answer => answer,
                () = timed_out(limit, dialogue.as_deref()) => Err(Failure::TimedOut(limit)),
            },
        };
        (outcome, turns)
    }
}

/// Waits until a handler has used up its timeout. Time spent waiting for the client's answers does not count.
async fn timed_out(limit: Duration, dialogue: Option<&Dialogue>) {
    let mut extended = Duration::ZERO;
    tokio::time::sleep(limit).await;
    while let Some(more) = dialogue.map(|dialogue| dialogue.waited().saturating_sub(extended))
        && !more.is_zero()
    {
        extended += more;
        tokio::time::sleep(more).await;
    }
}
