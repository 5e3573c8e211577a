//! [`Doctor`]: walks a live deployment as a client would, and says what is wrong, and what to do about it.
// `visit` sends, `report` records; the other files are the checks, in the order of a client: `endpoint`, `document`,
// `issuer`, `keys`. All of them know only a URL; `configured` adds what an `Auth` knows besides.

mod configured;
mod date;
mod document;
mod endpoint;
mod issuer;
mod keys;
mod report;
mod visit;
mod www_authenticate;

pub use report::{Check, Diagnosis, Finding, Status};

use self::configured::Configured;
use self::document::Document;
use self::endpoint::Endpoint;
use self::issuer::Needs;
use self::report::Report;
use self::visit::{Visit, unreachable};
use super::fetch::https::HttpsFetcher;
use super::keys::proxy;
use super::resource::ResourceUrl;
use super::{Auth, Secret};

/// No server needs more authorization servers; a document from elsewhere may name any number.
const MAX_ISSUERS: usize = 5;

/// Examines a live deployment over the network, from the URL that people type into their client. Requires the feature
/// `auth-fetch`.
///
/// ```no_run
/// # async fn examined() {
/// use mcp_runtime::auth::Secret;
/// use mcp_runtime::auth::doctor::Doctor;
///
/// let diagnosis = Doctor::new("https://mcp.example.com/mcp").token(Secret::env("TOKEN")).examine().await;
/// assert!(diagnosis.is_healthy(), "{diagnosis}");
/// # }
/// ```
///
/// Each request has ten seconds, 64 KiB of each response are read, and redirects are reported, not followed. Only https URLs are
/// asked, and loopback addresses.
#[derive(Debug)]
#[must_use = "a doctor does nothing until `examine` is awaited"]
pub struct Doctor {
    url: String,
    token: Option<Secret>,
    client: HttpsFetcher,
    configured: Configured,
    /// The scopes that handlers need, beside those of every call.
    scopes: Vec<String>,
}

impl Auth {
    /// Walks the live deployment of this authorization as a client would, from its [`resource`](Self::resource), and says
    /// what is wrong, and what to do about it. Requires the feature `auth-fetch`.
    ///
    /// [`Doctor`] has options; `my-server doctor URL` does the same on a command line.
    ///
    /// ```no_run
    /// use mcp_runtime::auth::Auth;
    ///
    /// # async fn examined() {
    /// let auth = Auth::jwt("https://auth.example.com").resource("https://mcp.example.com/mcp");
    /// let diagnosis = auth.doctor().await;
    /// assert!(diagnosis.is_healthy(), "{diagnosis}");
    /// # }
    /// ```
    pub async fn doctor(&self) -> Diagnosis {
        Doctor::of(self).examine().await
    }
}

impl Doctor {
    /// Examines the server at a URL, about which nothing else is known.
    pub fn new(url: impl Into<String>) -> Self {
        let (client, configured) = (HttpsFetcher::new(), Configured::default());
        Doctor { url: url.into(), token: None, client, configured, scopes: Vec::new() }
    }

    /// Examines the deployment of an authorization, and what cannot be seen from the outside: its introspection endpoint,
    /// for example.
    pub fn of(auth: &Auth) -> Self {
        let url = auth.resource.clone().unwrap_or_default();
        Doctor { configured: Configured::of(auth), ..Doctor::new(url) }
    }

    /// Sends a request with this token, too, which should be accepted. It is never printed.
    pub fn token(mut self, token: impl Into<Secret>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Looks for these scopes at the authorization servers, too: those that some handlers need.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sends requests with this client: one that trusts the certificates of a company, for example.
    pub fn client(mut self, client: HttpsFetcher) -> Self {
        self.client = client;
        self
    }

    /// Sends the requests of a client, one after the other, and says what was found.
    pub async fn examine(self) -> Diagnosis {
        let Doctor { url, token, client, configured, scopes } = self;
        let mut report = Report::default();
        configured.tell_mistakes(&mut report);
        let token = match token {
            Some(Secret(Ok(token))) => Some(token),
            Some(Secret(Err(mistake))) => {
                report.fail(Check::Token, mistake, "set it to a token of this server");
                None
            }
            None => None,
        };
        match ResourceUrl::parse(&url) {
            Ok(resource) => {
                match resource.warning() {
                    Some(_) => report.warn(
                        Check::Url,
                        format!(
                            "{url} ends with `/`: clients compare it byte for byte with the `resource` of the server"
                        ),
                        "type it as the server has it, mostly without the `/`",
                    ),
                    None => report.ok(Check::Url, resource.as_str()),
                }
                let (configured, token) = (&configured, token.as_deref());
                let walk = Walk { visit: Visit { client }, resource, configured, scopes: &scopes, token };
                walk.go(&mut report).await;
            }
            Err(mistake) => report.fail(Check::Url, mistake, "give the URL that people type into their client"),
        }
        report.finish(url, token.as_deref())
    }
}

/// The way of a client through a deployment.
struct Walk<'a> {
    visit: Visit,
    resource: ResourceUrl,
    configured: &'a Configured,
    scopes: &'a [String],
    token: Option<&'a str>,
}

impl Walk<'_> {
    async fn go(&self, report: &mut Report) {
        let (visit, url) = (&self.visit, &self.resource);
        let Some(endpoint) = endpoint::examine(visit, url, self.configured, report).await else {
            report.skip(Check::Document, "the server cannot be reached");
            return self.configured.ask_introspection(report).await;
        };
        let is_accepted = match self.token {
            Some(token) => endpoint::given_token(visit, url, token, report).await,
            None => false,
        };
        let named = endpoint.challenge.as_ref().and_then(|challenge| challenge.get("resource_metadata"));
        match document::examine(visit, url, named, report).await {
            Some(document) => {
                document::issuers(&document, is_accepted || self.configured.has_given_tokens, report);
                self.issuers(&document, &endpoint, report).await;
            }
            None => report.skip(Check::IssuerMetadata, "no document names an authorization server"),
        }
        self.configured.ask_introspection(report).await;
        self.legacy_discovery(report).await;
    }

    async fn issuers(&self, document: &Document, endpoint: &Endpoint, report: &mut Report) {
        let challenged = endpoint.challenge.as_ref().and_then(|challenge| challenge.get("scope")).unwrap_or_default();
        let mut scopes: Vec<String> = document.scopes.clone();
        let more = challenged.split(' ').chain(self.scopes.iter().map(String::as_str));
        for scope in more.filter(|scope| !scope.is_empty()) {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        for issuer in document.issuers.iter().take(MAX_ISSUERS) {
            let keys_at = self.configured.keys_of(issuer);
            let needs = Needs { resource: &self.resource, scopes: &scopes, keys_at };
            issuer::examine(&self.visit, issuer, needs, report).await;
        }
        if let Some(more) = document.issuers.len().checked_sub(MAX_ISSUERS).filter(|more| *more > 0) {
            report.skip(Check::IssuerMetadata, format!("{more} more authorization servers"));
        }
        match (document.issuers.first(), &endpoint.challenge) {
            (Some(issuer), Some(_)) => {
                endpoint::forged_token(&self.visit, &self.resource, (endpoint, issuer), report).await;
            }
            (Some(_), None) => report.skip(Check::ForgedToken, "there is no challenge"),
            (None, _) => {}
        }
    }

    /// Clients of 2025-03-26 look for the authorization server at the origin of the server, and nowhere else.
    async fn legacy_discovery(&self, report: &mut Report) {
        let check = Check::LegacyDiscovery;
        let at = format!("{}{}", self.resource.origin(), proxy::PATH);
        let seen = match self.visit.get(&at).await {
            Ok(reply) => match reply.json().filter(|_| reply.status() == 200) {
                Some(metadata) if metadata["token_endpoint"].is_string() => return report.ok(check, at),
                Some(_) => format!("{at} has no `token_endpoint`"),
                None => format!("{at}: {}", reply.summary()),
            },
            Err(why) => format!("{at}: {} ({})", why, unreachable(&why)),
        };
        if self.configured.serves_issuer_metadata {
            let remedy = "route it to the server; if it answers 503, the issuer cannot be reached from there";
            return report.fail(check, format!("`serve_issuer_metadata` is set, but {seen}"), remedy);
        }
        report.skip(check, format!("{seen}; `.serve_issuer_metadata()` helps clients of 2025-03-26, if there are any"));
    }
}
