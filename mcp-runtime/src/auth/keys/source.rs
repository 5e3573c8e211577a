//! [`KeySource`]: the keys of one issuer, and tokens verified with them.
//!
//! Keys are fetched by a task of their own, one at a time, whoever waits for it: a caller that goes away does not take
//! the fetch along. Only callers whose key is not known wait. Nothing is fetched while no tokens come.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::discovery::discover;
use super::schedule::{COOLDOWN, Lifetime, backoff};
use crate::auth::fetch::{self, Fetch, FetchError, FetchRequest};
use crate::auth::jose::claims::{TokenPolicy, VerifiedToken};
use crate::auth::jose::error::TokenError;
use crate::auth::jose::key_set::KeySet;
use crate::auth::jose::token::UnverifiedToken;
use crate::error::PAGE;
use crate::sync::{lock, spawn, until};

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerifyError {
    /// It is not valid: 401.
    Token(TokenError),
    /// Whether it is valid cannot be said now: 503. A 401 would make clients throw it away.
    Unavailable {
        /// When to try again.
        retry_after: Duration,
    },
}

impl From<TokenError> for VerifyError {
    fn from(error: TokenError) -> Self {
        VerifyError::Token(error)
    }
}

/// The keys of an issuer.
#[derive(Clone)]
pub(crate) struct KeySource(Origin);

#[derive(Clone)]
enum Origin {
    Given(Arc<KeySet>),
    Fetched(Arc<Fetched>),
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Origin::Given(keys) => f.debug_tuple("KeySource").field(keys).finish(),
            Origin::Fetched(fetched) => f.debug_tuple("KeySource").field(&fetched.place).finish(),
        }
    }
}

impl KeySource {
    /// Keys that do not change.
    pub(crate) fn given(keys: KeySet) -> Self {
        KeySource(Origin::Given(Arc::new(keys)))
    }

    /// The keys that the metadata of an issuer names.
    pub(crate) fn of_issuer(issuer: impl Into<Box<str>>, fetch: Arc<dyn Fetch>) -> Self {
        Self::fetched(Place::Issuer(issuer.into()), fetch)
    }

    /// The keys at a URL.
    pub(crate) fn at(url: impl Into<Box<str>>, fetch: Arc<dyn Fetch>) -> Self {
        Self::fetched(Place::Url(url.into()), fetch)
    }

    fn fetched(place: Place, fetch: Arc<dyn Fetch>) -> Self {
        let (state, finished) = (Mutex::default(), Notify::new());
        KeySource(Origin::Fetched(Arc::new(Fetched { place, fetch, state, finished })))
    }

    /// Fetches the keys now, and says why if that fails. For checks at start-up: calls fetch them when needed.
    pub(crate) async fn preload(&self) -> Result<(), String> {
        let Origin::Fetched(fetched) = &self.0 else { return Ok(()) };
        let attempts = fetched.begin(&mut lock(&fetched.state));
        fetched.finished(attempts).await;
        match &lock(&fetched.state).failure {
            Some(failure) => Err(failure.why.0.clone()),
            None => Ok(()),
        }
    }

    /// What a token says, if the policy accepts it at `now` (seconds since 1970) and the issuer has signed it.
    pub(crate) async fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        policy: &TokenPolicy,
        now: u64,
    ) -> Result<VerifiedToken, VerifyError> {
        let fetched = match &self.0 {
            Origin::Given(keys) => return Ok(token.verify(keys, policy, now)?),
            Origin::Fetched(fetched) => fetched,
        };
        // Without keys, this still finds out what no key could change.
        let known = fetched.known();
        let empty = KeySet::default();
        match token.verify(known.as_deref().unwrap_or(&empty), policy, now) {
            Err(error) if error.may_be_solved_by_new_keys() => {
                let keys = fetched.newer(known.is_some(), error).await?;
                Ok(token.verify(&keys, policy, now)?)
            }
            outcome => Ok(outcome?),
        }
    }
}

/// Where keys are found.
#[derive(Debug)]
enum Place {
    Issuer(Box<str>),
    Url(Box<str>),
}

struct Fetched {
    place: Place,
    fetch: Arc<dyn Fetch>,
    state: Mutex<State>,
    /// An attempt has ended.
    finished: Notify,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Lifetime)>,
    is_loading: bool,
    /// The attempts that have ended.
    attempts: u64,
    /// The last attempt, if it failed.
    failure: Option<Failure>,
    /// When keys were last fetched for a token whose key is not known.
    missed: Option<Instant>,
}

struct Failure {
    at: Instant,
    /// How many in a row.
    count: u32,
    why: FetchError,
}

impl State {
    fn usable(&self, now: Instant) -> Option<&Arc<KeySet>> {
        self.keys.as_ref().filter(|(_, lifetime)| now < lifetime.usable_until).map(|(keys, _)| keys)
    }

    /// How long to wait before the next attempt after one that failed.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let failure = self.failure.as_ref()?;
        let pause = if self.usable(now).is_some() { COOLDOWN } else { backoff(failure.count) };
        Some((failure.at + pause).saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

impl Fetched {
    /// The keys that are known. If they get old, they are fetched again meanwhile.
    fn known(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        let (mut state, now) = (lock(&self.state), Instant::now());
        if state.keys.as_ref().is_some_and(|(_, lifetime)| now >= lifetime.refresh_at) && state.pause(now).is_none() {
            self.begin(&mut state);
        }
        state.usable(now).cloned()
    }

    /// Keys that are newer than those that gave `error`, or why there are none.
    async fn newer(self: &Arc<Self>, has_keys: bool, error: TokenError) -> Result<Arc<KeySet>, VerifyError> {
        let attempts = {
            let (mut state, now) = (lock(&self.state), Instant::now());
            if !state.is_loading {
                if let Some(pause) = state.pause(now) {
                    return Err(unavailable(pause));
                }
                if has_keys && state.missed.is_some_and(|missed| now < missed + COOLDOWN) {
                    return Err(error.into());
                }
                // The first keys are no answer to a key that is not known.
                state.missed = has_keys.then_some(now);
            }
            self.begin(&mut state)
        };
        self.finished(attempts).await;
        let (state, now) = (lock(&self.state), Instant::now());
        match (&state.failure, state.usable(now)) {
            (None, Some(keys)) => Ok(Arc::clone(keys)),
            _ => Err(unavailable(state.pause(now).unwrap_or_default())),
        }
    }

    /// Fetches the keys, unless that is under way. Returns how many attempts have ended so far.
    fn begin(self: &Arc<Self>, state: &mut State) -> u64 {
        if !state.is_loading {
            state.is_loading = true;
            let attempt = Attempt { of: Arc::clone(self), outcome: None };
            spawn(attempt.run());
        }
        state.attempts
    }

    /// Waits for the end of an attempt that began after this many.
    async fn finished(&self, attempts: u64) {
        until(&self.finished, || lock(&self.state).attempts > attempts).await;
    }

    async fn load(&self) -> Result<(KeySet, Lifetime), FetchError> {
        let fetch = &*self.fetch;
        let url = match &self.place {
            Place::Url(url) => url.to_string(),
            Place::Issuer(issuer) => discover(fetch, issuer).await?.jwks_uri.ok_or_else(|| {
                FetchError(format!("the metadata of {issuer} has no `jwks_uri`; configure the URL of its keys"))
            })?,
        };
        let response = fetch::send(fetch, FetchRequest { url: url.clone(), form: None }).await?;
        if response.status != 200 {
            return Err(FetchError(format!("{url}: status {}", response.status)));
        }
        let keys = std::str::from_utf8(&response.body).ok().and_then(|text| KeySet::parse(text).ok());
        let keys = keys.ok_or_else(|| FetchError(format!("{url}: not a JSON Web Key Set")))?;
        // An issuer has keys: without any, something went wrong there, and tokens are not to blame.
        if keys.is_empty() {
            return Err(FetchError(format!("{url}: the key set has no key that can be used")));
        }
        Ok((keys, Lifetime::new(Instant::now(), response.max_age)))
    }

    fn end(&self, outcome: Result<(KeySet, Lifetime), FetchError>) {
        let (mut state, now) = (lock(&self.state), Instant::now());
        state.is_loading = false;
        state.attempts += 1;
        match outcome {
            Ok((mut keys, lifetime)) => {
                if let Some((earlier, _)) = &state.keys {
                    keys.replaces(earlier);
                }
                keys.extend_trust(lifetime.refresh_at);
                state.failure = None;
                state.keys = Some((Arc::new(keys), lifetime));
            }
            Err(why) => {
                let count = state.failure.as_ref().map_or(1, |failure| failure.count.saturating_add(1));
                let meanwhile =
                    if state.usable(now).is_some() { "known keys are used" } else { "tokens cannot be verified" };
                tracing::warn!(
                    "the keys of an issuer could not be fetched, {meanwhile} until they are: {why}; \
                     see {PAGE}#tokens-that-cannot-be-verified"
                );
                if let Some((keys, lifetime)) = &mut state.keys {
                    *lifetime = lifetime.retried(now);
                    keys.extend_trust(lifetime.refresh_at);
                }
                state.failure = Some(Failure { at: now, count, why });
            }
        }
        drop(state);
        self.finished.notify_waiters();
    }
}

/// When to try again, if keys cannot be had.
fn unavailable(pause: Duration) -> VerifyError {
    VerifyError::Unavailable { retry_after: pause.max(Duration::from_secs(1)) }
}

/// A fetch. Callers wait for it, so it ends even if the fetcher panics or the runtime drops it.
struct Attempt {
    of: Arc<Fetched>,
    outcome: Option<Result<(KeySet, Lifetime), FetchError>>,
}

impl Attempt {
    async fn run(mut self) {
        let outcome = timeout(fetch::TIMEOUT, self.of.load()).await;
        self.outcome = Some(outcome.unwrap_or_else(|_| {
            Err(FetchError(format!("{:?}: no answer within {} seconds", self.of.place, fetch::TIMEOUT.as_secs())))
        }));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let panicked = || Err(FetchError("the fetch was dropped before its end; has it panicked?".to_owned()));
        self.of.end(self.outcome.take().unwrap_or_else(panicked));
    }
}
