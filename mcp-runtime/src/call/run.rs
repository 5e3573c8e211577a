//! Running a handler: the first step where the message was read, the rest where it may wait.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{fmt, thread};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use crate::ask::Dialogue;
use crate::call::telemetry::log::CallLog;
use crate::jsonrpc::error::RpcError;
use crate::outcome::{Failure, Outcome, Reply, Step, Work};
use crate::panic::catch;
use crate::server::core::Core;
use crate::task;

/// A call on its way: the handler's first step, and how long it may take.
pub(crate) struct Started {
    pub(crate) step: Step,
    pub(crate) timeout: Option<Duration>,
    pub(crate) dialogue: Option<Arc<Dialogue>>,
}

impl From<Reply> for Started {
    fn from(reply: Reply) -> Self {
        Started { step: Step::Ready(Ok(reply)), timeout: None, dialogue: None }
    }
}

/// How far a call got on its first step.
pub(crate) enum FirstPoll {
    Done(Outcome),
    Pending(PendingCall),
}

/// A call that has to wait.
#[derive(Debug)]
pub(crate) struct PendingCall {
    future: GuardedFuture,
    timeout: Option<Duration>,
    log: Option<CallLog>,
}

/// A handler's future. Whatever it does when polled or dropped stays in here.
struct GuardedFuture {
    future: Option<Work>,
    /// Its conversation with the client, if it has one.
    dialogue: Option<Arc<Dialogue>>,
}

impl GuardedFuture {
    fn new(future: Work, dialogue: Option<Arc<Dialogue>>) -> Self {
        GuardedFuture { future: Some(future), dialogue }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(future) = &mut self.future else { return Poll::Ready(Err(Failure::Panicked)) };
        match catch(|| future.as_mut().poll(cx)).unwrap_or(Poll::Ready(Err(Failure::Panicked))) {
            // Perhaps for what only the next round can bring.
            Poll::Pending => self.goes_on(cx),
            Poll::Ready(answer) => self.is_done(answer, cx),
        }
    }

    /// A handler that is done may have been promised to be a task, and has not become one.
    fn is_done(&mut self, answer: Outcome, cx: &mut Context<'_>) -> Poll<Outcome> {
        let job = self.dialogue.as_ref().and_then(|dialogue| dialogue.planned_task());
        let Some(job) = job.filter(|job| job.is_owed(&answer)) else { return Poll::Ready(answer) };
        self.future = Some(task::launch(job, PendingCall::new(async { answer }), |_| ()));
        self.poll(cx)
    }

    /// A handler that waits may wait for another round, or to become a task.
    fn goes_on(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(dialogue) = &self.dialogue else { return Poll::Pending };
        // What is asked before it is a task is asked before it is one.
        if let Poll::Ready(round) = dialogue.poll_round(cx) {
            return Poll::Ready(round);
        }
        let Some(job) = dialogue.wanted_task(cx) else { return Poll::Pending };
        let dialogue = self.dialogue.take();
        let rest = GuardedFuture { future: self.future.take(), dialogue: dialogue.clone() };
        let work = PendingCall { future: rest, timeout: job.timeout, log: None };
        self.future = Some(task::launch(job, work, move |job| {
            if let Some(dialogue) = dialogue {
                dialogue.became(job);
            }
        }));
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
        let future = self.future.take();
        catch(|| drop(future));
        if let Some(dialogue) = &self.dialogue {
            dialogue.end();
        }
    }
}

/// Starts a call: a sync function runs to its end, an async one until it has to wait. One that may
/// have to wait is not begun unless there is room for it.
///
/// The first poll has no waker. What is pending is polled again by the task it becomes, so no
/// wake-up is lost; what is ready needed none.
pub(crate) fn start(
    blocking_threads: &BlockingThreads,
    log: Option<CallLog>,
    mut has_room: impl FnMut() -> bool,
    call: impl FnOnce() -> Result<Started, Failure>,
) -> FirstPoll {
    let Started { step, timeout, dialogue } = match catch(|| CallLog::with(log.as_ref(), call)) {
        Some(Ok(started)) => started,
        Some(Err(failure)) => return FirstPoll::Done(Err(failure)),
        None => return FirstPoll::Done(Err(Failure::Panicked)),
    };
    match step {
        Step::Ready(answer) => {
            if let Some(dialogue) = dialogue {
                dialogue.end();
            }
            FirstPoll::Done(answer)
        }
        // Before anything of it ran: the caller is told to try again.
        Step::Future(_) | Step::Blocking(_) if !has_room() => FirstPoll::Done(Err(busy())),
        Step::Future(future) => {
            let mut future = GuardedFuture::new(future, dialogue);
            let first = CallLog::with(log.as_ref(), || future.poll(&mut Context::from_waker(Waker::noop())));
            match first {
                Poll::Ready(answer) => FirstPoll::Done(answer),
                Poll::Pending => FirstPoll::Pending(PendingCall { future, timeout, log }),
            }
        }
        Step::Blocking(work) => match blocking_threads.start(with_subscriber(log, work)) {
            Ok(done) => {
                let done = async move { done.await.ok().flatten().unwrap_or(Err(Failure::Panicked)) };
                let future = GuardedFuture::new(Box::pin(done), dialogue);
                FirstPoll::Pending(PendingCall { future, timeout, log: None })
            }
            Err(failure) => FirstPoll::Done(Err(failure)),
        },
    }
}

/// Work for another thread, heard there by who listens here, if its client is to hear it.
fn with_subscriber<T>(log: Option<CallLog>, work: impl FnOnce() -> T) -> impl FnOnce() -> Option<T> {
    let says = log.is_some().then(|| tracing::dispatcher::get_default(tracing::Dispatch::clone));
    move || {
        let _says = says.as_ref().map(tracing::dispatcher::set_default);
        catch(|| CallLog::with(log.as_ref(), work))
    }
}

/// Threads for handlers that block.
///
/// Not Tokio's pool: a runtime waits for its pool before it shuts down, so one handler that never
/// returns would keep the process from exiting. These are let go. A handler over its timeout
/// still has its thread, and still counts.
#[derive(Debug)]
pub(crate) struct BlockingThreads(Arc<Semaphore>);

impl BlockingThreads {
    pub(crate) fn new(limit: usize) -> Self {
        BlockingThreads(Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))))
    }

    fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, Failure> {
        let permit = Arc::clone(&self.0).try_acquire_owned().map_err(|_| busy())?;
        let runtime = Handle::current();
        let (sender, done) = oneshot::channel();
        let body = move || {
            let _in_runtime = runtime.enter();
            // Nobody waits any more if the call timed out.
            let _ = sender.send(work());
            drop(permit);
        };
        thread::Builder::new().name("mcp-blocking".to_owned()).spawn(body).map_err(|_| busy())?;
        Ok(done)
    }
}

/// The answer to a call there is no room for.
fn busy() -> Failure {
    RpcError::new(RpcError::INTERNAL, "Too many calls in flight: wait for an answer, then try again").into()
}

impl PendingCall {
    /// Something to wait for that is no handler's.
    pub(crate) fn new(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        PendingCall { future: GuardedFuture::new(Box::pin(future), None), timeout: None, log: None }
    }

    /// A call that goes on as a task: nothing of it runs before it is polled.
    pub(crate) fn of_task(core: Arc<Core>, started: Started) -> Self {
        let Started { step, timeout, dialogue } = started;
        let work: Work = match step {
            Step::Ready(answer) => Box::pin(async { answer }),
            Step::Future(future) => future,
            Step::Blocking(work) => Box::pin(async move {
                core.blocking_threads
                    .start(with_subscriber(None, work))?
                    .await
                    .ok()
                    .flatten()
                    .unwrap_or(Err(Failure::Panicked))
            }),
        };
        PendingCall { future: GuardedFuture::new(work, dialogue), timeout, log: None }
    }

    /// Limits how long it may take.
    pub(crate) fn within(self, timeout: Option<Duration>) -> Self {
        PendingCall { timeout, ..self }
    }

    pub(crate) async fn finish(mut self) -> Outcome {
        let dialogue = self.future.dialogue.clone();
        let (future, log) = (&mut self.future, self.log.as_ref());
        let answer = std::future::poll_fn(|cx| CallLog::with(log, || future.poll(cx)));
        match self.timeout {
            None => answer.await,
            Some(limit) => tokio::select! {
                biased;
                answer = answer => answer,
                () = time_is_up(limit, dialogue.as_deref()) => Err(Failure::TimedOut(limit)),
            },
        }
    }
}

/// Waits until a handler had its time. While it waits for an answer of the client's, that is not its own.
async fn time_is_up(limit: Duration, dialogue: Option<&Dialogue>) {
    let mut granted = Duration::ZERO;
    tokio::time::sleep(limit).await;
    while let Some(more) = dialogue.map(|dialogue| dialogue.waited().saturating_sub(granted))
        && !more.is_zero()
    {
        granted += more;
        tokio::time::sleep(more).await;
    }
}
