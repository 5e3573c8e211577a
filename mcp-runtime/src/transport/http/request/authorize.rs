//! Authorization over HTTP: tokens are verified before a message is read, and what a caller lacks is said in the status
//! and in `WWW-Authenticate`.
//!
//! It comes before the era of a request is known: 401 and 403 say nothing about eras.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>

use std::pin::Pin;
use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL,
    CONTENT_TYPE, HeaderValue,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::HttpRequest;
use super::headers::Field;
use crate::auth::Auth;
use crate::auth::access::Access;
use crate::auth::gate::{Admission, Closed, Credentials, Gate, Sent, WellKnown};
use crate::auth::jose::claims::Scheme;
use crate::auth::keys::proxy;
use crate::auth::verifier::Presented;
use crate::dispatch::admission::permit::{self, NeededScopes};
use crate::dispatch::tasks;
use crate::error::{PAGE, Result, ServerError};
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::sync::spawn;
use crate::transport::http::response::body::Body;
use crate::transport::http::response::denied;
use crate::transport::http::route::Target;
use crate::transport::http::{HttpService, Responding, Service, response};

/// The methods of the document.
const DOCUMENT_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");
const ANY: HeaderValue = HeaderValue::from_static("*");

impl HttpService {
    /// Requires a token with every request, and publishes the document by which clients find where to get one. Requires
    /// the feature `auth`.
    ///
    /// The [principal](Self::principal) of a request is its [`User`](crate::auth::User), identified by issuer, subject
    /// and client: sessions, tasks and quotas belong to it, and the hook is not asked. The host of
    /// [`Auth::resource`](crate::auth::Auth::resource) is allowed beside loopback, unless
    /// [`allow_hosts`](Self::allow_hosts) names others. A stream ends when its token does.
    ///
    /// A service that is nested in a framework answers at `/.well-known/oauth-protected-resource`, with or without the
    /// path of the resource, if the framework routes that there:
    ///
    /// ```ignore
    /// let document = "/.well-known/oauth-protected-resource/mcp";
    /// let router = axum::Router::new().route_service(document, service.clone()).nest_service("/mcp", service);
    /// ```
    ///
    /// If it is not set up well, [`serve`](Self::serve) fails with what to change; a nested service answers 500.
    #[track_caller]
    pub fn authorize(self, auth: Auth) -> Self {
        let gate = auth.into_gate();
        if let Err(mistake) = &gate {
            tracing::error!("{mistake}; see {PAGE}#authorization-that-cannot-work");
        }
        if let Ok(gate) = &gate {
            let _ = self.0.core.remote_policy.set(Arc::clone(&gate.policy));
        }
        self.with(|options| {
            options.origin_policy.own_host = gate.as_ref().ok().map(|gate| gate.host().to_owned());
            options.gate = Some(gate);
        })
    }

    /// Fetches the keys of issuers before the first token comes, and logs why that fails. The server is served meanwhile:
    /// an issuer that is away may be back before the first token.
    pub(crate) fn preload_authorization(&self) {
        let service = self.clone();
        spawn(async move {
            let Some(Ok(gate)) = &service.0.options.gate else { return };
            for why in gate.preload().await {
                tracing::error!(
                    "tokens of an authorization server are answered 503 until this is solved: {why}; \
                     see {PAGE}#tokens-that-cannot-be-verified"
                );
            }
        });
    }

    /// Checks what would make the service useless, or open to everybody.
    pub(crate) fn check_authorization(&self) -> Result<(), ServerError> {
        match &self.0.options.gate {
            Some(Err(mistake)) => {
                Err(ServerError::msg(format!("{mistake}\nsee {PAGE}#authorization-that-cannot-work")))
            }
            Some(Ok(_)) => Ok(()),
            None => match permit::first_with_scopes(&self.0.core.shared.catalog()) {
                Some(name) => Err(ServerError::msg(format!(
                    "`{name}` has scopes, but nobody has any: set up authorization with `HttpService::authorize`\n\
                     see {PAGE}#authorization-that-cannot-work"
                ))),
                None => Ok(()),
            },
        }
    }
}

impl Service {
    /// A document about the service, if it is what a request asks for. Everybody may read it, also a page of another
    /// origin.
    #[inline]
    pub(crate) fn well_known<'a>(&'a self, parts: &Parts) -> Option<Documented<'a>> {
        match &self.options.gate {
            Some(Ok(gate)) if parts.uri.path().starts_with("/.well-known/") => documents(gate, parts),
            _ => None,
        }
    }

    /// The caller of a request; `None` if there are no rules.
    #[inline]
    pub(crate) async fn authorize<'a>(
        &'a self,
        http: &HttpRequest<'a>,
        target: &Target,
    ) -> Result<Option<Access>, Box<Response<Body>>> {
        let Some(gate) = &self.options.gate else { return Ok(None) };
        let is_served = match target {
            Target::Endpoint => matches!(http.parts.method, Method::POST | Method::GET | Method::DELETE),
            Target::SseStream | Target::SseMessages => true,
            // Answered with 404 or 405, to everybody.
            Target::SseWrongMethod | Target::NotFound => false,
        };
        if !is_served {
            return Ok(None);
        }
        let Ok(gate) = gate else {
            let text = "authorization is not set up; the log says what to change";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return Err(Box::new(response::refuse(status, RpcError::INTERNAL, text)));
        };
        let sent = sent(http, gate.has_dpop());
        let access = match gate.recognize(&sent) {
            Some(access) => access,
            None => admit(gate, sent, http).await?,
        };
        // A message says what it is for, and so which other scopes it needs.
        if http.parts.method != Method::POST && !access.has_baseline() {
            return Err(Box::new(denied::refuse(Id::NULL, &access.deny(&[]))));
        }
        Ok(Some(access))
    }

    /// The refusal of a message before it is served: its caller lacks what every call needs, or some element of a
    /// batch needs more. All scopes of the message are in one challenge.
    #[inline]
    pub(crate) fn denial<'a>(&'a self, http: &HttpRequest<'a>, frame: &[u8]) -> Option<Responding<'a>> {
        let access = http.access?;
        let is_batch = frame.trim_ascii_start().first() == Some(&b'[');
        if !is_batch && access.has_baseline() {
            return None;
        }
        self.message_denial(access, frame)
    }

    #[cold]
    fn message_denial<'a>(&'a self, access: &'a Access, frame: &[u8]) -> Option<Responding<'a>> {
        let NeededScopes { scopes, id, task } =
            permit::needed_by(&self.core.shared.catalog(), frame, &self.core.limits);
        let lacks = access.permit(&scopes).err()?;
        let Some(task) = task else {
            return Some(Responding::Done(denied::refuse(Id::new_unchecked(&id), &lacks)));
        };
        Some(Responding::later(async move {
            let owner = access.user.as_ref().map(|user| &**user.principal());
            let scopes = tasks::scopes(&self.core, &task, owner).await;
            denied::refuse(Id::new_unchecked(&id), &access.deny(&scopes))
        }))
    }
}

/// The caller of a request whose token is not known.
async fn admit<'a>(gate: &'a Gate, sent: Sent<'a>, http: &HttpRequest<'a>) -> Result<Access, Box<Response<Body>>> {
    let admitted = match gate.admit(credentials(sent, http)) {
        Admission::Ready(admitted) => admitted,
        Admission::Later { presented, verifying } => gate.verified(&presented, verifying.await),
    };
    admitted.map_err(|closed| Box::new(denied::close(&closed)))
}

/// What is in the place of a token. It is in one header, and nowhere else.
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-requirements>
#[inline]
fn sent<'a>(http: &HttpRequest<'a>, has_dpop: bool) -> Sent<'a> {
    let query = http.parts.uri.query();
    if query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some("access_token"))) {
        return Sent::Malformed("send the token in the Authorization header, never in the URL");
    }
    let value = match http.headers.authorization {
        Field::Absent => return Sent::None,
        Field::Once(value) => value,
        Field::Twice => return Sent::Malformed("send the Authorization header once"),
    };
    let bytes = value.as_bytes();
    // As nearly every client writes it.
    if let Some(token) = bytes.strip_prefix(b"Bearer ") {
        return Sent::Token { scheme: Scheme::Bearer, token: token.trim_ascii() };
    }
    let (scheme, token) = bytes.split_at(bytes.iter().position(|byte| *byte == b' ').unwrap_or(bytes.len()));
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case(b"bearer") => Scheme::Bearer,
        _ if has_dpop && scheme.eq_ignore_ascii_case(b"dpop") => Scheme::Dpop,
        _ => return Sent::None,
    };
    Sent::Token { scheme, token: token.trim_ascii() }
}

/// The credentials of a request, if what was sent can be a token.
fn credentials<'a>(sent: Sent<'a>, http: &HttpRequest<'a>) -> Credentials<'a> {
    let (scheme, token) = match sent {
        Sent::None => return Credentials::None,
        Sent::Malformed(why) => return Credentials::Malformed(why),
        Sent::Token { scheme, token } => (scheme, token),
    };
    let is_token = !token.is_empty() && token.iter().all(|byte| byte.is_ascii_graphic() && *byte != b',');
    let (true, Ok(token)) = (is_token, std::str::from_utf8(token)) else {
        return Credentials::Malformed("send one token, in ASCII: Authorization: Bearer TOKEN");
    };
    let proof = match http.headers.dpop {
        Field::Once(proof) => proof.to_str().ok(),
        Field::Absent | Field::Twice => None,
    };
    let (method, parts) = (http.parts.method.as_str(), Some(&**http.parts));
    Credentials::Token(Presented { scheme, token, method, proof, parts })
}

/// A document: ours, or that of the issuer, which may have to be fetched.
type Documented<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

#[cold]
fn documents<'a>(gate: &'a Gate, parts: &Parts) -> Option<Documented<'a>> {
    let method = parts.method.clone();
    match &gate.proxy {
        Some(proxy) if parts.uri.path().trim_end_matches('/') == proxy::PATH => Some(Box::pin(async move {
            match proxy.document().await {
                Ok(text) => document(Some(&text), &method),
                Err(pause) => {
                    let text = "the metadata of the authorization server cannot be had now; retry later";
                    let closed = Closed::unavailable(pause, text);
                    denied::close(&closed)
                }
            }
        })),
        _ => {
            let text = match gate.well_known(parts.uri.path())? {
                WellKnown::Document(text) => Some(text),
                WellKnown::NotOurs => None,
            };
            Some(Box::pin(std::future::ready(document(text, &method))))
        }
    }
}

/// The response with a document; 404 without one.
fn document(text: Option<&str>, method: &Method) -> Response<Body> {
    let mut response = match (text, method) {
        (None, _) => response::empty(StatusCode::NOT_FOUND),
        (Some(text), &Method::GET | &Method::HEAD) => {
            let mut response = Response::new(Body::full(text.to_owned()));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
            response
        }
        (Some(_), &Method::OPTIONS) => {
            let mut response = response::empty(StatusCode::NO_CONTENT);
            let headers = response.headers_mut();
            headers.insert(ALLOW, DOCUMENT_METHODS);
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, DOCUMENT_METHODS);
            // Clients in browsers send `MCP-Protocol-Version`.
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ANY);
            response
        }
        (Some(_), _) => response::not_allowed("GET, HEAD, OPTIONS"),
    };
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    response
}
