//! Progress notifications of one call: which reports are sent, and which are throttled.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/progress>

pub(crate) mod heartbeat;

use std::fmt;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::notifier::Notifier;
use crate::era::encode::notification::{self, NotificationTo};
use crate::jsonrpc::Id;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use crate::sync::lock;

/// The minimum time between two reports.
const INTERVAL: Duration = Duration::from_millis(10);

/// The progress of one call, for a client that asked for reports.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The JSON text of the client's progress token.
    pub(crate) token: Box<str>,
    last: Mutex<Last>,
}

/// What was reported last.
#[derive(Debug, Default)]
struct Last {
    /// By the handler or a heartbeat.
    sent: Option<Report>,
    /// By the handler: how much it said, and when. Heartbeats neither replace nor throttle its reports.
    own: Option<(f64, Instant)>,
}

/// A report that was sent.
#[derive(Debug, Clone, Copy)]
struct Report {
    done: f64,
    total: Option<f64>,
    at: Instant,
}

/// A heartbeat adds one part of so many to the progress: it must increase, and stay below what the handler reports next.
const PARTS: f64 = 1e6;

impl Progress {
    /// Reads the progress token from a request's `_meta`. `None` if the client does not want reports.
    pub(crate) fn requested(meta: Raw<'_>) -> Option<Self> {
        let entries = Object::read(meta).ok()?;
        // A token has the type of a request id: a string or an integer.
        let token = Id::parse(entries.get("progressToken")?.get())?;
        Some(Progress { token: token.as_str().into(), last: Mutex::default() })
    }

    /// Whether a report of the handler's is to be sent.
    pub(crate) fn advances(&self, done: f64, total: Option<f64>) -> bool {
        lock(&self.last).advances(done, total, Instant::now())
    }

    /// Has `send` send a report of the handler's, with how much is done, unless it is dropped. Under the lock, so that
    /// reports arrive in order: `send` must not wait.
    pub(crate) fn report(&self, done: f64, total: Option<f64>, send: impl FnOnce(f64)) {
        let (mut last, now) = (lock(&self.last), Instant::now());
        if !last.advances(done, total, now) {
            return;
        }
        last.own = Some((done, now));
        // Heartbeats may have reported more than the handler.
        let more = last.sent.map_or(done, |sent| done.max(sent.done.next_up()));
        if more.is_finite() {
            last.sent = Some(Report { done: more, total, at: now });
            send(more);
        }
    }

    /// Sends a report of the handler's when there is room for it, unless it is dropped.
    pub(super) async fn send(
        &self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
        outlet: &Notifier,
        to: NotificationTo<'_>,
    ) {
        let send = |send: &mut dyn FnMut(Vec<u8>)| {
            self.report(done, total, |done| {
                send(notification::progress(&self.token, done, total, message.as_deref(), to));
            });
        };
        outlet.send_with(send).await;
    }

    /// Has `send` send a heartbeat: a little more than before, of the same total. If there was a report within `every`,
    /// there is none. Returns when the next is due.
    fn beat(&self, every: Duration, send: impl FnOnce(f64, Option<f64>)) -> Instant {
        let (mut last, now) = (lock(&self.last), Instant::now());
        let (before, total) = match last.sent {
            Some(Report { at, .. }) if now - at < every => return at + every,
            Some(Report { done, total, .. }) => (done, total),
            None => (0.0, None),
        };
        // A sum of many parts would be no number that a person can read.
        let more = ((before * PARTS).round() + 1.0) / PARTS;
        let done = if more.is_finite() { more.max(before.next_up()) } else { before.next_up() };
        if done.is_finite() {
            let total = total.filter(|total| done < *total);
            last.sent = Some(Report { done, total, at: now });
            send(done, total);
        }
        now + every
    }
}

impl Last {
    /// Whether to send a report: progress must increase, and reports are throttled, except the one that reaches the
    /// total.
    fn advances(&self, done: f64, total: Option<f64>, now: Instant) -> bool {
        match self.own {
            _ if !done.is_finite() => false,
            None => true,
            Some((before, at)) => done > before && (now - at >= INTERVAL || total.is_some_and(|total| done >= total)),
        }
    }
}

/// A report of progress, from [`Context::progress`](crate::Context::progress): a future that sends it.
// A type, because the future of an `async fn` would repeat the errors about its arguments wherever it is used.
#[must_use = "a report is sent when it is awaited; in a `fn`, call `try_progress` instead"]
pub struct ProgressReport<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> ProgressReport<'a> {
    /// A report that is sent by this future, or dropped.
    pub(super) fn new(sending: Option<impl Future<Output = ()> + Send + 'a>) -> Self {
        ProgressReport(sending.map(|sending| Box::pin(sending) as _))
    }
}

impl Future for ProgressReport<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(sending) => sending.as_mut().poll(task),
            None => Poll::Ready(()),
        }
    }
}

impl fmt::Debug for ProgressReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReport").finish_non_exhaustive()
    }
}

/// A number of any primitive type, as an amount of work. See [`Context::progress`](crate::Context::progress).
#[diagnostic::on_unimplemented(message = "`{Self}` is not an amount of work", label = "expected a number")]
pub trait Amount {
    /// The number. Large integers lose precision.
    fn amount(self) -> f64;
}

/// A total amount of work that may be unknown: a number of any primitive type, or an `Option<f64>`. See
/// [`Context::progress`](crate::Context::progress).
// Implemented for one `Option` only, so that a plain `None` needs no annotation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a total",
    label = "a number, `None` or an `Option<f64>`",
    note = "an `Option` of another number: `total.map(|total| total as f64)`"
)]
pub trait Total {
    /// The number, or `None` if it is unknown.
    fn total(self) -> Option<f64>;
}

#[diagnostic::do_not_recommend]
impl Total for Option<f64> {
    fn total(self) -> Option<f64> {
        self
    }
}

macro_rules! amounts {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Amount for $ty {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress needs no more digits")]
            fn amount(self) -> f64 {
                self as f64
            }
        }

        #[diagnostic::do_not_recommend]
        impl Total for $ty {
            fn total(self) -> Option<f64> {
                Some(self.amount())
            }
        }
    )*};
}

amounts! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }

#[cfg(test)]
mod tests {
    use super::*;

    fn requested() -> Progress {
        Progress::requested(Raw::new_unchecked(r#"{"progressToken":7}"#)).unwrap()
    }

    /// What is sent of a report.
    fn report(progress: &Progress, done: f64, total: Option<f64>) -> Option<f64> {
        let mut sent = None;
        progress.report(done, total, |done| sent = Some(done));
        sent
    }

    fn beat(progress: &Progress, every: Duration) -> Result<(f64, Option<f64>), Instant> {
        let mut sent = None;
        let due = progress.beat(every, |done, total| sent = Some((done, total)));
        sent.ok_or(due)
    }

    #[tokio::test(start_paused = true)]
    async fn report_must_advance() {
        let progress = requested();
        assert_eq!(&*progress.token, "7");
        assert_eq!(report(&progress, 1.0, Some(10.0)), Some(1.0));
        assert_eq!(report(&progress, 1.0, Some(10.0)), None, "no further");
        assert_eq!(report(&progress, 0.5, Some(10.0)), None, "backwards");
        assert_eq!(report(&progress, 2.0, Some(10.0)), None, "too soon");
        assert_eq!(report(&progress, f64::NAN, None), None);
        assert_eq!(report(&progress, 10.0, Some(10.0)), Some(10.0), "the end");
        tokio::time::advance(INTERVAL).await;
        assert_eq!(report(&progress, 11.0, None), Some(11.0));
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeat_increases_and_makes_way_for_the_handler() {
        let every = Duration::from_secs(10);
        let progress = requested();
        let (first, total) = beat(&progress, every).unwrap();
        assert!(first > 0.0 && total.is_none());
        assert_eq!(beat(&progress, every), Err(Instant::now() + every), "a beat is a report");
        tokio::time::advance(every).await;
        assert!(beat(&progress, every).unwrap().0 > first);
        tokio::time::advance(every / 2).await;
        assert_eq!(report(&progress, 0.001, Some(0.002)), Some(0.001), "beats are smaller than what handlers report");
        assert_eq!(beat(&progress, every), Err(Instant::now() + every));
        tokio::time::advance(every).await;
        let (third, total) = beat(&progress, every).unwrap();
        assert!(third > 0.001 && third < 0.002 && total == Some(0.002));
        assert!(report(&progress, 1e300, Some(1e300)).is_some());
        tokio::time::advance(every).await;
        assert!(
            matches!(beat(&progress, every), Ok((more, None)) if more > 1e300),
            "however large, and beyond the total"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_are_round_numbers() {
        let every = Duration::from_secs(10);
        let progress = requested();
        for number in 1..=1000 {
            let (done, _) = beat(&progress, every).unwrap();
            assert_eq!(done.to_string(), (f64::from(number) / 1e6).to_string());
            tokio::time::advance(every).await;
        }
        assert_eq!(report(&progress, 7.5, None), Some(7.5));
        tokio::time::advance(every).await;
        assert_eq!(beat(&progress, every).unwrap().0.to_string(), "7.500001");
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeat_takes_nothing_from_the_handler() {
        let every = Duration::from_secs(10);
        let progress = requested();
        let (beaten, _) = beat(&progress, every).unwrap();
        let told = report(&progress, 0.0, Some(100.0)).expect("the first report of the handler, with its message");
        assert!(told > beaten && told < 0.001, "{told}");
        tokio::time::advance(every).await;
        assert!(beat(&progress, every).is_ok());
        assert_eq!(report(&progress, 1.0, Some(100.0)), Some(1.0), "at once after a beat");
        assert_eq!(report(&progress, 2.0, Some(100.0)), None, "but not after a report");
    }

    #[tokio::test(start_paused = true)]
    async fn progress_stays_finite() {
        let every = Duration::from_secs(10);
        let progress = requested();
        assert_eq!(report(&progress, f64::MAX, None), Some(f64::MAX));
        for _ in 0..3 {
            tokio::time::advance(every).await;
            assert_eq!(beat(&progress, every), Err(Instant::now() + every), "there is nothing more to report");
        }
    }

    #[test]
    fn token_is_a_string_or_an_integer() {
        let requested = |meta: &str| Progress::requested(Raw::new_unchecked(meta)).is_some();
        assert!(requested(r#"{"progressToken":"p"}"#));
        assert!(!requested(r#"{"progressToken":1.5}"#));
        assert!(!requested(r#"{"progressToken":null}"#));
        assert!(!requested("{}"));
    }
}
