//! Running a handler: the first step where the message was read, the rest where it may wait.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::error::Failure;
use crate::reply::Answer;
use crate::router::Started;
use crate::spec::Step;

/// How far a call got on its first step.
pub(crate) enum Progress {
    Done(Answer),
    Pending(Pending),
}

/// A call that has to wait.
pub(crate) struct Pending {
    future: Pin<Box<dyn Future<Output = Answer> + Send>>,
    timeout: Option<Duration>,
}

/// Starts a call: a sync function runs to its end, an async one until it has to wait.
///
/// The first poll has no waker. What is pending is polled again by the task it becomes, so no
/// wake-up is lost; what is ready needed none.
pub(crate) fn start(call: impl FnOnce() -> Result<Started, Failure>) -> Progress {
    let Started { step, timeout } = match caught(call) {
        Some(Ok(started)) => started,
        Some(Err(failure)) => return Progress::Done(Err(failure)),
        None => return Progress::Done(Err(Failure::Panicked)),
    };
    match step {
        Step::Ready(answer) => Progress::Done(answer),
        Step::Future(mut future) => match poll(future.as_mut(), &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Progress::Done(answer),
            Poll::Pending => Progress::Pending(Pending { future, timeout }),
        },
        Step::Blocking(work) => {
            let future = Box::pin(async move {
                let done = tokio::task::spawn_blocking(move || caught(work)).await;
                done.ok().flatten().unwrap_or(Err(Failure::Panicked))
            });
            Progress::Pending(Pending { future, timeout })
        }
    }
}

impl Pending {
    pub(crate) async fn finish(mut self) -> Answer {
        let answer = std::future::poll_fn(|cx| poll(self.future.as_mut(), cx));
        match self.timeout {
            None => answer.await,
            Some(limit) => tokio::time::timeout(limit, answer).await.unwrap_or(Err(Failure::TimedOut(limit))),
        }
    }
}

fn poll(future: Pin<&mut (dyn Future<Output = Answer> + Send)>, cx: &mut Context<'_>) -> Poll<Answer> {
    caught(|| future.poll(cx)).unwrap_or(Poll::Ready(Err(Failure::Panicked)))
}

/// Runs `code`; `None` if it panicked. The panic hook has told the log by then. Nothing of the
/// framework is shared with what panicked, so there is no broken state to see.
fn caught<T>(code: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}
