//! A clock for one connection: every request is waited for, and hardly any wait comes to its end.
//!
//! hyper begins a wait per request. Each would enter a timer with the runtime and take it out again;
//! here they share one that stays, and is set anew only when it goes off too early.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// The timer of a connection.
#[derive(Debug, Clone)]
pub(super) struct Alarm(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    sleep: Pin<Box<tokio::time::Sleep>>,
    /// Who is woken when it goes off, once somebody is.
    waker: Option<Waker>,
}

impl Alarm {
    /// One that goes off after `time` at the earliest.
    pub(super) fn new(time: Duration) -> Self {
        Alarm(Arc::new(Mutex::new(State { sleep: Box::pin(tokio::time::sleep(time)), waker: None })))
    }
}

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { alarm: self.clone(), deadline })
    }
}

/// A wait for a point in time.
#[derive(Debug)]
struct Wait {
    alarm: Alarm,
    deadline: Instant,
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let state = &mut *self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if known && !state.sleep.is_elapsed() && state.sleep.deadline().into_std() <= self.deadline {
            return Poll::Pending;
        }
        loop {
            if state.sleep.deadline().into_std() > self.deadline {
                state.sleep.as_mut().reset(self.deadline.into());
            }
            if state.sleep.as_mut().poll(cx).is_pending() {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            if tokio::time::Instant::now().into_std() >= self.deadline {
                return Poll::Ready(());
            }
            state.sleep.as_mut().reset(self.deadline.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_in_time_whatever_was_waited_for_before() {
        let alarm = Alarm::new(Duration::from_millis(20));
        let begun = Instant::now();
        // Given up, as most are.
        drop(tokio::time::timeout(Duration::from_millis(5), alarm.sleep(Duration::from_millis(20))).await);
        for wait in [60, 30, 10] {
            let begun = Instant::now();
            alarm.sleep(Duration::from_millis(wait)).await;
            assert!(begun.elapsed() >= Duration::from_millis(wait), "{wait}");
        }
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
