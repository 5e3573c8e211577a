//! [`Verifier`]: from a token to its user. [`Rejection`]: why there is none.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::User;
use super::jose::claims::Scheme;
use super::jose::token::UnverifiedToken;
use crate::error::PAGE;
use crate::panic;

/// How long clients wait before they try again, if a verifier does not say.
const RETRY: Duration = Duration::from_secs(5);

/// A token, and what else of its request may matter to it.
#[derive(Clone, Copy)]
pub(crate) struct Presented<'a> {
    pub(crate) scheme: Scheme,
    pub(crate) token: &'a str,
    /// The method of the HTTP request.
    pub(crate) method: &'a str,
    /// The `DPoP` header, if there is exactly one.
    pub(crate) proof: Option<&'a str>,
    /// The HTTP request.
    #[cfg(feature = "http")]
    pub(crate) parts: Option<&'a http::request::Parts>,
}

/// Verifies tokens.
pub(crate) trait Verifier: Send + Sync {
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a>;

    /// The user of a token that needs no more than a look into a table.
    fn known(&self, _token: &[u8]) -> Option<Arc<User>> {
        None
    }

    /// The authorization servers whose tokens it accepts.
    fn issuers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether it alone judges the tokens of this authorization server.
    fn is_issuer(&self, _issuer: &str) -> bool {
        false
    }

    /// Fetches what it will need, and says what is wrong with it.
    fn preload(&self) -> Preloading<'_> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// What is wrong with the authorization servers.
pub(crate) type Preloading<'a> = Pin<Box<dyn Future<Output = Vec<String>> + Send + 'a>>;

pub(crate) type Verified = Result<Arc<User>, Rejection>;

/// The user of a token, at once or later. At once without the allocation of a future.
pub(crate) enum Verifying<'a> {
    Ready(Verified),
    Later(Pin<Box<dyn Future<Output = Verified> + Send + 'a>>),
}

impl Verifying<'_> {
    async fn finish(self) -> Verified {
        match self {
            Verifying::Ready(verified) => verified,
            Verifying::Later(verifying) => verifying.await,
        }
    }
}

/// Why a token is not accepted: the error of [`Auth::verify_with`](super::Auth::verify_with).
///
/// Any other error becomes one that says "not now": the client is told to try again, with 503. It keeps its token, where
/// 401 would make it throw the token away and open a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection(pub(crate) RejectionKind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RejectionKind {
    Invalid(Cow<'static, str>),
    Unavailable { retry_after: Duration },
}

impl Rejection {
    /// The token is unknown, expired, revoked, or for another server: 401. The client is told why.
    pub fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        Rejection(RejectionKind::Invalid(why.into()))
    }

    /// The token cannot be verified now: 503, with `Retry-After`.
    pub fn unavailable(retry_after: Duration) -> Self {
        Rejection(RejectionKind::Unavailable { retry_after })
    }
}

impl<E: std::error::Error> From<E> for Rejection {
    fn from(error: E) -> Self {
        tracing::error!(
            %error,
            "a token could not be verified; the request is answered 503; see {PAGE}#tokens-that-cannot-be-verified"
        );
        Rejection::unavailable(RETRY)
    }
}

/// A function of the user's.
pub(crate) struct VerifyFn<F>(pub(crate) F);

impl<F, Fut> Verifier for VerifyFn<F>
where
    F: Fn(String) -> Fut + Send + Sync,
    Fut: Future<Output = Result<User, Rejection>> + Send + 'static,
{
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a> {
        let token = presented.token.to_owned();
        Verifying::Later(Box::pin(async move {
            let user = guarded(|| (self.0)(token)).await?;
            if user.expires_at().is_some_and(|end| end <= SystemTime::now()) {
                return Err(Rejection::invalid("the token has expired"));
            }
            Ok(Arc::new(user))
        }))
    }
}

/// Runs code of the user's, which may panic.
pub(crate) async fn guarded<T, Fut>(start: impl FnOnce() -> Fut) -> Result<T, Rejection>
where
    Fut: Future<Output = Result<T, Rejection>>,
{
    let verifying = panic::catch(start).ok_or_else(panicked)?;
    let mut verifying = std::pin::pin!(verifying);
    let verified = std::future::poll_fn(|cx| match panic::catch(|| verifying.as_mut().poll(cx)) {
        Some(polled) => polled.map(Some),
        None => std::task::Poll::Ready(None),
    });
    verified.await.ok_or_else(panicked)?
}

fn panicked() -> Rejection {
    tracing::error!("the verification of a token panicked; the request is answered 503");
    Rejection::unavailable(RETRY)
}

/// Several verifiers. The token of an authorization server that one of them is for is not shown to the others; any
/// other token is judged by all, in turn.
pub(crate) struct AnyOf(pub(crate) Vec<Box<dyn Verifier>>);

impl AnyOf {
    async fn judge(&self, presented: Presented<'_>) -> Verified {
        let issuer = UnverifiedToken::parse(presented.token).ok().and_then(|token| token.issuer());
        if let Some(own) = issuer.and_then(|issuer| self.0.iter().find(|verifier| verifier.is_issuer(&issuer))) {
            return own.verify(presented).finish().await;
        }
        let mut rejected: Option<Rejection> = None;
        for verifier in &self.0 {
            match verifier.verify(presented).finish().await {
                Ok(user) => return Ok(user),
                Err(rejection) => {
                    rejected = Some(match rejected {
                        Some(earlier) => earlier.or(rejection),
                        None => rejection,
                    });
                }
            }
        }
        Err(rejected.unwrap_or_else(|| Rejection::invalid("no verifier accepts the token")))
    }
}

impl Verifier for AnyOf {
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a> {
        match self.known(presented.token.as_bytes()) {
            Some(user) => Verifying::Ready(Ok(user)),
            None => Verifying::Later(Box::pin(self.judge(presented))),
        }
    }

    fn known(&self, token: &[u8]) -> Option<Arc<User>> {
        self.0.iter().find_map(|verifier| verifier.known(token))
    }

    fn issuers(&self) -> Vec<String> {
        self.0.iter().flat_map(|verifier| verifier.issuers()).collect()
    }

    fn is_issuer(&self, issuer: &str) -> bool {
        self.0.iter().any(|verifier| verifier.is_issuer(issuer))
    }

    fn preload(&self) -> Preloading<'_> {
        Box::pin(async {
            let mut failures = Vec::new();
            for verifier in &self.0 {
                failures.extend(verifier.preload().await);
            }
            failures
        })
    }
}

impl Rejection {
    /// What both say together: a token that one verifier cannot judge now may be valid.
    fn or(self, other: Rejection) -> Rejection {
        if matches!(self.0, RejectionKind::Unavailable { .. }) { self } else { other }
    }
}

#[cfg(test)]
impl<'a> Presented<'a> {
    pub(crate) fn bearer(token: &'a str) -> Self {
        Presented {
            scheme: Scheme::Bearer,
            token,
            method: "POST",
            proof: None,
            #[cfg(feature = "http")]
            parts: None,
        }
    }
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented").field("method", &self.method).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presented(token: &str) -> Presented<'_> {
        Presented::bearer(token)
    }

    fn knows(token: &'static str) -> Box<dyn Verifier> {
        Box::new(VerifyFn(move |sent: String| async move {
            if sent == token { Ok(User::new(token)) } else { Err(Rejection::invalid("unknown")) }
        }))
    }

    fn away() -> Box<dyn Verifier> {
        Box::new(VerifyFn(|_| async { Err(std::io::Error::other("connection refused").into()) }))
    }

    #[tokio::test]
    async fn any_of_asks_in_turn_and_prefers_not_now() {
        let both = AnyOf(vec![knows("a"), knows("b")]);
        for token in ["a", "b"] {
            assert_eq!(both.verify(presented(token)).finish().await.unwrap().subject(), token);
        }
        assert_eq!(both.verify(presented("c")).finish().await.unwrap_err(), Rejection::invalid("unknown"));
        for order in [[knows("a"), away()], [away(), knows("a")]] {
            let verifier = AnyOf(order.into());
            assert!(verifier.verify(presented("a")).finish().await.is_ok());
            assert_eq!(verifier.verify(presented("c")).finish().await.unwrap_err(), Rejection::unavailable(RETRY));
        }
    }

    #[tokio::test]
    async fn panic_and_expiry_of_a_function_are_rejections() {
        let panics = VerifyFn(|_: String| async { panic!("no") });
        assert_eq!(panics.verify(presented("a")).finish().await.unwrap_err(), Rejection::unavailable(RETRY));
        let expired = VerifyFn(|_: String| async { Ok(User::new("a").with_expiry(SystemTime::UNIX_EPOCH)) });
        assert_eq!(
            expired.verify(presented("a")).finish().await.unwrap_err(),
            Rejection::invalid("the token has expired")
        );
    }

    #[test]
    fn token_is_not_printed() {
        assert!(!format!("{:?}", presented("s3cret")).contains("s3cret"));
    }
}
