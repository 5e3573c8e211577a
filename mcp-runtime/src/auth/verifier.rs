//! [`Verifier`]: from a token to its user. [`Rejection`]: why there is none.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::User;
use crate::panic;

/// How long clients wait before they try again, if a verifier does not say.
const RETRY: Duration = Duration::from_secs(5);

/// A token, and what else of its request may matter to it.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "for verifiers of tokens that are bound to a proof of possession")]
pub(crate) struct Presented<'a> {
    pub(crate) token: &'a str,
    /// The method of the HTTP request.
    pub(crate) method: &'a str,
    /// The `DPoP` header, if there is exactly one.
    pub(crate) proof: Option<&'a str>,
}

/// Verifies tokens.
pub(crate) trait Verifier: Send + Sync {
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a>;

    /// The authorization servers whose tokens it accepts.
    fn issuers(&self) -> Vec<String> {
        Vec::new()
    }
}

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
    #[allow(dead_code, reason = "for verifiers that read more of a request than its token")]
    Malformed(Cow<'static, str>),
    Unavailable {
        retry_after: Duration,
    },
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
        tracing::error!(%error, "a token could not be verified; the request is answered 503");
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
            let verifying = panic::catch(|| (self.0)(token)).ok_or_else(panicked)?;
            let mut verifying = std::pin::pin!(verifying);
            let verified = std::future::poll_fn(|cx| match panic::catch(|| verifying.as_mut().poll(cx)) {
                Some(polled) => polled.map(Some),
                None => std::task::Poll::Ready(None),
            });
            let user = verified.await.ok_or_else(panicked)??;
            if user.expires_at().is_some_and(|end| end <= SystemTime::now()) {
                return Err(Rejection::invalid("the token has expired"));
            }
            Ok(Arc::new(user))
        }))
    }
}

fn panicked() -> Rejection {
    tracing::error!("the function of `Auth::verify_with` panicked; the request is answered 503");
    Rejection::unavailable(RETRY)
}

/// Several verifiers, asked in turn.
pub(crate) struct AnyOf(pub(crate) Vec<Box<dyn Verifier>>);

impl AnyOf {
    async fn rest<'a>(&'a self, presented: Presented<'a>, mut rejected: Rejection, from: usize) -> Verified {
        for verifier in &self.0[from..] {
            match verifier.verify(presented).finish().await {
                Ok(user) => return Ok(user),
                Err(rejection) => rejected = rejected.or(rejection),
            }
        }
        Err(rejected)
    }
}

impl Verifier for AnyOf {
    fn verify<'a>(&'a self, presented: Presented<'a>) -> Verifying<'a> {
        let mut rejected: Option<Rejection> = None;
        for (index, verifier) in self.0.iter().enumerate() {
            match verifier.verify(presented) {
                Verifying::Ready(Ok(user)) => return Verifying::Ready(Ok(user)),
                Verifying::Ready(Err(rejection)) => {
                    rejected = Some(match rejected {
                        Some(earlier) => earlier.or(rejection),
                        None => rejection,
                    });
                }
                Verifying::Later(verifying) => {
                    return Verifying::Later(Box::pin(async move {
                        match verifying.await {
                            Ok(user) => Ok(user),
                            Err(rejection) => {
                                let rejected = match rejected {
                                    Some(earlier) => earlier.or(rejection),
                                    None => rejection,
                                };
                                self.rest(presented, rejected, index + 1).await
                            }
                        }
                    }));
                }
            }
        }
        Verifying::Ready(Err(rejected.unwrap_or_else(|| Rejection::invalid("no verifier accepts the token"))))
    }

    fn issuers(&self) -> Vec<String> {
        self.0.iter().flat_map(|verifier| verifier.issuers()).collect()
    }
}

impl Rejection {
    /// What both say together: a token that one verifier cannot judge now may be valid.
    fn or(self, other: Rejection) -> Rejection {
        match (&self.0, &other.0) {
            (RejectionKind::Unavailable { .. }, _) => self,
            (_, RejectionKind::Unavailable { .. }) => other,
            (RejectionKind::Malformed(_), _) => self,
            _ => other,
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
        Presented { token, method: "POST", proof: None }
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
