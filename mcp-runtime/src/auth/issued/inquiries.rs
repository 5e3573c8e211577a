//! [`Inquiries`]: the questions that an authorization server is being asked, one per token, and no more than it can take.
//!
//! A client that sends many requests at once makes one inquiry of them. Many clients, or one with invented tokens, cannot
//! make this server flood the other: what is over the limit is answered 503, and keeps its token. Tokens that were not
//! active before have half of the places, so that invented ones do not take those of users.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use crate::auth::fingerprint::{Fingerprint, FingerprintMap, FingerprintSet, Fingerprints};
use crate::auth::jose::claims::VerifiedToken;
use crate::auth::keys::source::VerifyError;
use crate::sync::{lock, spawn};

/// How many inquiries are made at a time.
pub(crate) const MAX_INQUIRIES: usize = 64;
/// How many of these are about tokens that are not known to be active.
const MAX_STRANGERS: usize = MAX_INQUIRIES / 2;
/// How many tokens are remembered to have been active.
const MAX_KNOWN: usize = 4096;
/// What a 503 asks callers to wait: an inquiry takes less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What an authorization server says about a token.
pub(crate) type Answer = Result<VerifiedToken, VerifyError>;

/// The inquiries that are being made.
#[derive(Default)]
pub(crate) struct Inquiries {
    fingerprints: Fingerprints,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    running: FingerprintMap<watch::Receiver<Option<Answer>>>,
    /// How many of those running are about tokens that were not known.
    strangers: usize,
    /// Tokens that were active, two generations of them: the older one is forgotten when the younger one is full.
    known: [FingerprintSet; 2],
}

impl Table {
    fn knows(&self, print: &Fingerprint) -> bool {
        self.known.iter().any(|known| known.contains(print))
    }

    fn remember(&mut self, print: Fingerprint) {
        if self.known[0].len() >= MAX_KNOWN / 2 {
            self.known.swap(0, 1);
            self.known[0].clear();
        }
        self.known[0].insert(print);
    }

    fn has_room(&self, is_known: bool) -> bool {
        self.running.len() < MAX_INQUIRIES && (is_known || self.strangers < MAX_STRANGERS)
    }
}

/// An inquiry, until it is over, however it ends.
struct Running {
    inquiries: Arc<Inquiries>,
    print: Fingerprint,
    is_known: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut table = lock(&self.inquiries.table);
        table.running.remove(&self.print);
        table.strangers -= usize::from(!self.is_known);
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
        let mut table = lock(&self.table);
        if let Some(answer) = table.running.get(&print) {
            return Some(answer.clone());
        }
        let is_known = table.knows(&print);
        if !table.has_room(is_known) {
            return None;
        }
        let (sender, answer) = watch::channel(None);
        table.running.insert(print, answer.clone());
        table.strangers += usize::from(!is_known);
        drop(table);
        let entry = Running { inquiries: Arc::clone(self), print, is_known };
        let asking = inquire();
        spawn(async move {
            let answer = asking.await;
            if answer.is_ok() {
                lock(&entry.inquiries.table).remember(print);
            }
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
        assert!(lock(&inquiries.table).running.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn inquiries_over_the_limit_are_not_made() {
        let inquiries = Arc::<Inquiries>::default();
        let running: Vec<_> = (0..MAX_STRANGERS).map(|number| inquiries.join(&number.to_string(), inactive)).collect();
        assert!(running.iter().all(Option::is_some));
        let over = inquiries.make("one too many", || async { panic!("not asked") });
        assert_eq!(over.await.unwrap_err(), VerifyError::Unavailable { retry_after: RETRY_AFTER });
        assert_eq!(inquiries.make("7", inactive).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
        assert_eq!(inquiries.make("next", inactive).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
    }

    #[tokio::test(start_paused = true)]
    async fn invented_tokens_leave_room_for_those_that_were_active() {
        let inquiries = Arc::<Inquiries>::default();
        let print = |token: &str| inquiries.fingerprints.of_one(token.as_bytes());
        lock(&inquiries.table).remember(print("ann"));
        let invented = (0..MAX_INQUIRIES).filter_map(|number| inquiries.join(&number.to_string(), inactive)).count();
        assert_eq!(invented, MAX_STRANGERS);
        assert_eq!(inquiries.make("ann", inactive).await.unwrap_err(), VerifyError::Token(TokenError::Inactive));
        for number in 0..10 * MAX_KNOWN {
            lock(&inquiries.table).remember(print(&number.to_string()));
        }
        let table = lock(&inquiries.table);
        assert!(table.known.iter().map(FingerprintSet::len).sum::<usize>() <= MAX_KNOWN);
        assert!(table.knows(&print(&(10 * MAX_KNOWN - 1).to_string())) && !table.knows(&print("ann")));
    }

    #[tokio::test(start_paused = true)]
    async fn panics_and_callers_that_leave_free_the_place() {
        let inquiries = Arc::<Inquiries>::default();
        let panics = inquiries.make("a", || async { panic!("no") });
        assert_eq!(panics.await.unwrap_err(), VerifyError::Unavailable { retry_after: RETRY_AFTER });
        assert!(tokio::time::timeout(Duration::from_millis(1), inquiries.make("b", inactive)).await.is_err());
        assert_eq!(lock(&inquiries.table).running.len(), 1, "it goes on");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(lock(&inquiries.table).running.is_empty());
    }
}
