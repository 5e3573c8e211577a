//! [`Introspection`]: asking the authorization server about a token that only it can read (RFC 7662).

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::auth::fetch::{self, Fetch, FetchError, FetchForm, FetchRequest, FetchResponse};
use crate::auth::jose::audience::Audience;
use crate::auth::jose::claims::{self, Binding, LEEWAY, VerifiedToken};
use crate::auth::jose::error::TokenError;
use crate::auth::jose::json;
use crate::auth::jose::jws::MAX_BYTES;
use crate::auth::keys::source::VerifyError;
use crate::error::PAGE;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How long an answer is believed, in seconds, if answers are cached: a revoked token is accepted for as long.
const CACHED: u64 = 60;
/// How long a token lasts, in seconds, whose expiry the server keeps to itself. It is asked again for every call; streams
/// end after this.
const UNSTATED_LIFETIME: u64 = 3600;
/// What a 503 asks callers to wait.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// An introspection endpoint, and what its answers have to say.
#[derive(Clone)]
pub(crate) struct Introspection {
    url: Box<str>,
    client: ClientCredentials,
    fetch: Arc<dyn Fetch>,
    audience: Audience,
    /// The issuer of the tokens. If it is not given, the endpoint is: what an answer says could be the name of another
    /// issuer, and its users those of that one.
    issuer: Option<Box<str>>,
    /// Whether tokens without `aud` are accepted: some servers never send it.
    pub(crate) audience_is_optional: bool,
    /// Whether answers are cached for a minute.
    pub(crate) is_cached: bool,
    /// In seconds.
    pub(crate) leeway: u64,
    /// Whether the last request failed, which is logged once.
    is_failing: Arc<AtomicBool>,
}

/// How this server shows who it is (RFC 6749 §2.3.1).
#[derive(Clone)]
pub(crate) enum ClientCredentials {
    /// `client_secret_basic`.
    Basic { id: Box<str>, secret: Box<str> },
    /// `client_secret_post`.
    Post { id: Box<str>, secret: Box<str> },
}

/// Without the credentials.
impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Introspection { url, audience, issuer, audience_is_optional, is_cached, .. } = self;
        f.debug_struct("Introspection")
            .field("url", url)
            .field("issuer", issuer)
            .field("audience", audience)
            .field("audience_is_optional", audience_is_optional)
            .field("is_cached", is_cached)
            .finish_non_exhaustive()
    }
}

impl Introspection {
    pub(crate) fn new(
        url: impl Into<Box<str>>,
        client: ClientCredentials,
        issuer: Option<Box<str>>,
        audience: Audience,
        fetch: Arc<dyn Fetch>,
    ) -> Self {
        Introspection {
            url: url.into(),
            client,
            fetch,
            audience,
            issuer,
            audience_is_optional: false,
            is_cached: false,
            leeway: LEEWAY,
            is_failing: Arc::default(),
        }
    }

    /// What a token says, if the authorization server calls it active at `now` (seconds since 1970).
    pub(crate) async fn verify(&self, token: &str, now: u64) -> Result<VerifiedToken, VerifyError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::TooLarge.into());
        }
        let answer = match fetch::send(&*self.fetch, self.request(token)).await {
            Ok(response) => self.read(&response, now),
            Err(FetchError(why)) => Err(Refusal::Unavailable(why)),
        };
        let is_failing = matches!(answer, Err(Refusal::Unavailable(_)));
        let was_failing = self.is_failing.swap(is_failing, Ordering::Relaxed);
        answer.map_err(|refusal| match refusal {
            Refusal::Token(error) => VerifyError::Token(error),
            Refusal::Unavailable(why) => {
                // Not each time: clients could flood the log.
                if !was_failing {
                    tracing::warn!(
                        "tokens cannot be introspected (logged once until they can): {why}; \
                         see {PAGE}#tokens-that-cannot-be-verified"
                    );
                }
                VerifyError::Unavailable { retry_after: RETRY_AFTER }
            }
        })
    }

    /// Asks about a token that nobody has issued, and says why there is no answer.
    #[cfg(feature = "auth-fetch")]
    pub(crate) async fn answers(&self) -> Result<(), String> {
        let FetchError(why) = match fetch::send(&*self.fetch, self.request("a-token-that-nobody-has-issued")).await {
            Ok(response) => match self.read(&response, 0) {
                Err(Refusal::Unavailable(why)) => FetchError(why),
                _ => return Ok(()),
            },
            Err(error) => error,
        };
        Err(why)
    }

    fn request(&self, token: &str) -> FetchRequest {
        let mut body = String::from("token=");
        encode(token, &mut body);
        body.push_str("&token_type_hint=access_token");
        let authorization = match &self.client {
            ClientCredentials::Basic { id, secret } => {
                let mut pair = String::new();
                encode(id, &mut pair);
                pair.push(':');
                encode(secret, &mut pair);
                Some(format!("Basic {}", STANDARD.encode(pair)))
            }
            ClientCredentials::Post { id, secret } => {
                body.push_str("&client_id=");
                encode(id, &mut body);
                body.push_str("&client_secret=");
                encode(secret, &mut body);
                None
            }
        };
        FetchRequest { url: self.url.to_string(), form: Some(FetchForm { body, authorization }) }
    }

    fn read(&self, response: &FetchResponse, now: u64) -> Result<VerifiedToken, Refusal> {
        let unavailable = |why: &str| Err(Refusal::Unavailable(format!("{}: {why}", self.url)));
        match response.status {
            200 => {}
            status @ (400 | 401 | 403) => {
                return unavailable(&format!("status {status}; are the client's id and secret right?"));
            }
            status => return unavailable(&format!("status {status}")),
        }
        let text = std::str::from_utf8(&response.body).ok();
        let Some((text, answer)) = text.and_then(|text| Some((text, json::object(text)?))) else {
            return unavailable("the answer is not a JSON object");
        };
        match answer.get("active").map(Raw::get) {
            Some("true") => self.accept(text, &answer, now).map_err(Refusal::Token),
            Some("false") => Err(Refusal::Token(TokenError::Inactive)),
            _ => unavailable("the answer has no `active`"),
        }
    }

    fn accept(&self, text: &str, answer: &Object<'_>, now: u64) -> Result<VerifiedToken, TokenError> {
        // Not taken for absent if it is something else: all users of a client would be one.
        let member = |key: &str, malformed| match json::optional_text(answer, key) {
            Ok(text) => Ok(text.map(|text| Box::<str>::from(&*text))),
            Err(_) => Err(TokenError::Malformed(malformed)),
        };
        let issuer = member("iss", "its iss is not a string")?;
        if self.issuer.is_some() && issuer.is_some() && issuer != self.issuer {
            return Err(TokenError::WrongIssuer);
        }
        let subject = match member("sub", "its sub is not a string")? {
            None => member("username", "its username is not a string")?,
            subject => subject,
        };
        let is_for_us = match answer.get("aud") {
            None => self.audience_is_optional,
            Some(aud) => json::texts(aud).is_some_and(|names| names.iter().any(|name| self.audience.has(name))),
        };
        if !is_for_us {
            return Err(TokenError::WrongAudience);
        }
        let expires_at = claims::check_times(answer, self.leeway, now)?.unwrap_or(now + UNSTATED_LIFETIME);
        Ok(VerifiedToken {
            issuer: self.issuer.as_ref().unwrap_or(&self.url).clone(),
            subject,
            client_id: member("client_id", "its client_id is not a string")?,
            scopes: claims::scopes(answer)?,
            expires_at,
            leeway: self.leeway,
            cache_until: if self.is_cached { expires_at.min(now + CACHED) } else { 0 },
            claims: text.trim().into(),
            binding: Binding::read(answer)?,
            key: None,
        })
    }
}

/// Why a token is not accepted, or why that cannot be said, for the operator.
enum Refusal {
    Token(TokenError),
    Unavailable(String),
}

/// `application/x-www-form-urlencoded`; more is escaped than has to be, which is the same text.
fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => into.push(char::from(byte)),
            _ => {
                let _ = write!(into, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
