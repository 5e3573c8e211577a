//! [`Inquiries`]: the questions that an authorization server is being asked, one per token, and no more than it can take.
//!
//! A client that sends many requests at once makes one inquiry of them. Many clients, or one with invented tokens, cannot
//! make this server flood the other: what is over the limit is answered 503, and keeps its token.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use crate::auth::fingerprint::{Fingerprint, FingerprintMap, Fingerprints};
use crate::auth::jose::claims::VerifiedToken;
use crate::auth::keys::source::VerifyError;
use crate::sync::{lock, spawn};

/// How many inquiries are made at a time.
pub(crate) const MAX_INQUIRIES: usize = 64;
/// What a 503 asks callers to wait: an inquiry takes less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What an authorization server says about a token.
pub(crate) type Answer = Result<VerifiedToken, VerifyError>;

/// The inquiries that are being made.
#[derive(Default)]
pub(crate) struct Inquiries {
    fingerprints: Fingerprints,
    running: Mutex<FingerprintMap<watch::Receiver<Option<Answer>>>>,
}

/// An inquiry, until it is over, however it ends.
struct Running {
    inquiries: Arc<Inquiries>,
    print: Fingerprint,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.inquiries.running).remove(&self.print);
    }
}

impl Inquiries {
    /// The answer to an inquiry about a token: to the one that is being made, or to a new one. It is made by a task of its
    /// own, so that a caller who goes away does not take it along from the others.
    pub(crate) async fn make<F>(self: &Arc<Self>, token: &str, inquire: impl FnOnce() -> F) -> Answer
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let Some(mut answer) = self.join(token, inquire) else {
            return Err(VerifyError::Unavailable { retry_after: RETRY_AFTER });
        };
        match answer.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(answer)) => answer.clone(),
            // It panicked.
            Ok(None) | Err(_) => Err(VerifyError::Unavailable { retry_after: RETRY_AFTER }),
        }
    }

    /// The inquiry about a token; `None` if there are too many others.
    fn join<F>(self: &Arc<Self>, token: &str, inquire: impl FnOnce() -> F) -> Option<watch::Receiver<Option<Answer>>>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let print = self.fingerprints.of_one(token.as_bytes());
        let mut running = lock(&self.running);
        if let Some(answer) = running.get(&print) {
            return Some(answer.clone());
        }
        if running.len() >= MAX_INQUIRIES {
            return None;
        }
        let (sender, answer) = watch::channel(None);
        running.insert(print, answer.clone());
        drop(running);
        let entry = Running { inquiries: Arc::clone(self), print };
        let asking = inquire();
        spawn(async move {
            let answer = asking.await;
            // Whoever comes from now on asks again: the answer is not cached here.
            drop(entry);
            let _ = sender.send(Some(answer));
        });
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::jose::error::TokenError;

    async fn inactive() -> Answer {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err(VerifyError::Token(TokenError::Inactive))
    }

    #[tokio::test(start_paused = true)]
    async fn requests_with_one_token_are_one_inquiry() {
        let (inquiries, made) = (Arc::<Inquiries>::default(), std::sync::atomic::AtomicUsize::new(0));
        let inquire = || {
            made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            inactive()
        };
        let both = tokio::join!(inquiries.make("a", inquire), inquiries.make("a", inquire));
        assert_eq!([both.0.unwrap_err(), both.1.unwrap_err()], [VerifyError::Token(TokenError::Inactive); 2]);
        assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 1);
        let _ = inquiries.make("a", inquire).await;
        assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 2, "answers are not kept");
        assert!(lock(&inquiries.running).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn inquiries_over_the_limit_are_not_made() {
        let inquiries = Arc::<Inquiries>::default();
        let running: Vec<_> = (0..MAX_INQUIRIES).map(|number| inquiries.join(&number.to_string(), inactive)).collect();
        assert!(running.iter().all(Option::is_some));
        let over = inquiries.make("one too many", || async { panic!("not asked") });
        assert_eq!(over.await.unwrap_err(), VerifyError::Unavailable { retry_after: RETRY_AFTER });
        assert_eq!(inquiries.make("7", inactive).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
        assert_eq!(inquiries.make("next", inactive).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
    }

    #[tokio::test(start_paused = true)]
    async fn panics_and_callers_that_leave_free_the_place() {
        let inquiries = Arc::<Inquiries>::default();
        let panics = inquiries.make("a", || async { panic!("no") });
        assert_eq!(panics.await.unwrap_err(), VerifyError::Unavailable { retry_after: RETRY_AFTER });
        assert!(tokio::time::timeout(Duration::from_millis(1), inquiries.make("b", inactive)).await.is_err());
        assert_eq!(lock(&inquiries.running).len(), 1, "it goes on");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(lock(&inquiries.running).is_empty());
    }
}
