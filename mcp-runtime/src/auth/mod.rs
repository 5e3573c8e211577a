//! Authorization: who calls, and what they may call. See [`Auth`].
// `Auth` is what people write; `gate` is what becomes of it, once per service. A `Verifier` makes a `User` of a token;
// `access` compares the user's scopes with those an operation needs. The HTTP side is
// `transport/http/request/authorize.rs`, the check of a call `dispatch/admission/permit.rs`.

pub(crate) mod access;
mod bearer;
mod challenge;
pub(crate) mod clock;
#[cfg(feature = "auth-fetch")]
pub mod doctor;
pub(crate) mod fetch;
pub(crate) mod fingerprint;
pub(crate) mod gate;
pub(crate) mod issued;
pub(crate) mod jose;
pub(crate) mod keys;
mod possession;
mod resource;
mod scope;
mod stored_user;
mod user;
pub(crate) mod verifier;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

pub use bearer::Secret;
#[cfg(feature = "auth-fetch")]
pub use fetch::https::HttpsFetcher;
pub use fetch::{Fetch, FetchError, FetchForm, FetchFuture, FetchRequest, FetchResponse};
pub use jose::algorithm::Algorithm;
pub use possession::Dpop;
pub(crate) use scope::check as check_scope;
pub use user::User;
pub use verifier::Rejection;

use access::{Access, AccessPolicy};
use bearer::BearerTokens;
use issued::settings::IssuedSettings;
use possession::Possession;
use resource::Metadata;
use scope::{Granted, Hierarchy};
use verifier::{Verifier, VerifyFn};

/// Authorization: how tokens are verified, and which scopes calls need. Requires the feature `auth`.
///
/// A constructor says how tokens are verified, [`resource`](Self::resource) what they are for. Then
/// [`HttpService::authorize`](crate::http::HttpService::authorize) rejects requests without a valid token, as the
/// specification says, and publishes the document by which clients find where to get one.
///
/// ```no_run
/// use mcp_runtime::auth::Auth;
/// use mcp_runtime::prelude::*;
///
/// /// Delete a note.
/// #[tool(scopes("notes:write"))]
/// fn delete_note(ctx: &Context, id: u64) -> Result<String> {
///     Ok(format!("note {id} of {} is gone", ctx.user()?.subject()))
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), ServerError> {
///     let auth = Auth::jwt("https://auth.example.com") // the issuer: its metadata and keys are found from it
///         .resource("https://mcp.example.com/mcp") // the URL people type into their client
///         .scopes(["notes:read"]); // what every call needs
///     let server = Server::new("notes", "1.0.0").tools(tools![delete_note]);
///     server.into_service().authorize(auth).serve("0.0.0.0:8080").await
/// }
/// ```
///
/// On stdio there are no tokens: the caller is the person who started the server, and has every scope, or those of
/// [`Auth::local`].
#[must_use = "pass it to `HttpService::authorize` or `Server::authorize`"]
pub struct Auth {
    source: Source,
    resource: Option<String>,
    scopes: Vec<Box<str>>,
    hierarchy: Hierarchy,
    optional: bool,
    shows_all: bool,
    serves_issuer_metadata: bool,
    metadata: Metadata,
    possession: Possession,
    /// What is wrong with it; serving fails with all of it.
    mistakes: Vec<String>,
}

/// How tokens are verified.
enum Source {
    Bearer(BearerTokens),
    Function(Box<dyn Verifier>),
    Issued(Box<IssuedSettings>),
    AnyOf(Vec<Auth>),
    /// Not at all: the scopes of the caller on stdio.
    Local(Granted),
}

impl Auth {
    fn new(source: Source) -> Self {
        Auth {
            source,
            resource: None,
            scopes: Vec::new(),
            hierarchy: Hierarchy::default(),
            optional: false,
            shows_all: false,
            serves_issuer_metadata: false,
            metadata: Metadata::new(),
            possession: Possession::default(),
            mistakes: Vec::new(),
        }
    }

    /// Accepts these tokens, each of which names a user: for a small server without an authorization server. Clients send
    /// them as `Authorization: Bearer …`.
    ///
    /// A user has every scope, unless [`grant`](Self::grant) limits them. Keep tokens out of the source, with
    /// [`Secret::env`] or [`Secret::file`]; 32 random characters cannot be guessed.
    ///
    /// ```
    /// use mcp_runtime::auth::{Auth, Secret};
    ///
    /// let auth = Auth::bearer([("ci", Secret::env("CI_TOKEN")), ("alice", Secret::file("/run/secrets/alice"))])
    ///     .grant("ci", ["notes:read"])
    ///     .resource("https://mcp.example.com/mcp");
    /// ```
    pub fn bearer(tokens: impl IntoIterator<Item = (impl Into<String>, impl Into<Secret>)>) -> Self {
        let (mut known, mut mistakes) = (BearerTokens::default(), Vec::new());
        for (name, token) in tokens {
            mistakes.extend(known.add(name.into(), token.into()).err());
        }
        Auth { mistakes, ..Auth::new(Source::Bearer(known)) }
    }

    /// Verifies tokens with a function of your own. It is called for every request; cache what takes long.
    ///
    /// It must check that the token is meant for this server, as its audience says. An error that is not a
    /// [`Rejection::invalid`] becomes 503, so that clients keep their tokens while a database is away.
    pub fn verify_with<F, Fut>(verify: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<User, Rejection>> + Send + 'static,
    {
        Auth::new(Source::Function(Box::new(VerifyFn(verify))))
    }

    /// Accepts what any of these accepts: tokens of several issuers, for example. A JWT is shown to the part whose issuer it
    /// names, and to no other one; any other token to each part in turn, until one accepts it. Options about the server are
    /// set on the whole; those about tokens on a part, or on the whole for all parts.
    pub fn any_of(all: impl IntoIterator<Item = Auth>) -> Self {
        Auth::new(Source::AnyOf(all.into_iter().collect()))
    }

    /// Grants the caller on stdio these scopes only, to be passed to [`Server::authorize`](crate::Server::authorize).
    /// Without it, a caller on stdio has every scope: they have started the server themselves.
    pub fn local(scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Auth::new(Source::Local(Granted::only(scopes)))
    }

    /// Sets the URL of the server, exactly as people type it into their client. Required over HTTP.
    ///
    /// Clients compare it byte for byte with what they connect to, and ask for tokens with it as their audience. It is
    /// never derived from a request, whose `Host` anybody can choose.
    pub fn resource(mut self, url: impl Into<String>) -> Self {
        self.resource = Some(url.into());
        self
    }

    /// Sets the scopes that every call needs. More, for one handler: `#[tool(scopes("notes:write"))]`.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter().map(|scope| scope.into().into_boxed_str());
        self.scopes = scopes.collect();
        self
    }

    /// Sets the hierarchy of scopes: whether a granted scope implies a needed one. Each scope implies itself.
    ///
    /// ```
    /// use mcp_runtime::auth::Auth;
    ///
    /// let auth = Auth::bearer([("ci", "a-very-secret-token")])
    ///     .scope_implies(|granted, needed| granted == "notes:write" && needed == "notes:read");
    /// ```
    pub fn scope_implies(mut self, implies: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.hierarchy = Hierarchy::new(implies);
        self
    }

    /// Limits a user of [`bearer`](Self::bearer) to these scopes.
    pub fn grant(mut self, name: &str, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let limited = match &mut self.source {
            Source::Bearer(tokens) => tokens.limit(name, &Granted::only(scopes)),
            _ => Err("`grant` is for the users of `Auth::bearer`".to_owned()),
        };
        self.mistakes.extend(limited.err());
        self
    }

    /// Serves callers without a token, too: they may call what has no scopes. What has some is answered 401, which
    /// makes a client get a token. A token that is invalid is rejected.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Shows every caller all handlers in lists, also those they lack the scopes for. By default lists show what the
    /// caller may call. Either way, a call without its scopes is answered 403 with what is missing.
    pub fn show_all(mut self) -> Self {
        self.shows_all = true;
        self
    }

    /// Names the authorization servers in the document, by their issuer URLs: where clients get tokens. Needed with
    /// [`verify_with`](Self::verify_with).
    pub fn authorization_servers(mut self, issuers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.authorization_servers.extend(issuers.into_iter().map(Into::into));
        self
    }

    /// Sets the name of the server in the document, for people.
    pub fn resource_name(mut self, name: impl Into<String>) -> Self {
        self.metadata.resource_name = Some(name.into());
        self
    }

    /// Sets the URL of a page for developers, in the document.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.metadata.resource_documentation = Some(url.into());
        self
    }

    /// Sets the URL of a page about how clients may use the data, in the document.
    pub fn policy(mut self, url: impl Into<String>) -> Self {
        self.metadata.resource_policy_uri = Some(url.into());
        self
    }

    /// Sets the URL of the terms of service, in the document.
    pub fn terms_of_service(mut self, url: impl Into<String>) -> Self {
        self.metadata.resource_tos_uri = Some(url.into());
        self
    }

    /// The URL of the server, if it is set.
    #[cfg(all(feature = "cli", feature = "auth-fetch"))]
    pub(crate) fn resource_url(&self) -> Option<&String> {
        self.resource.as_ref()
    }

    /// Whether it is for stdio alone.
    #[cfg(feature = "http")]
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.source, Source::Local(_))
    }

    /// The access of the caller on stdio, or `user`, as far as this says anything about it.
    pub(crate) fn local_access(&self, user: Option<User>) -> Access {
        let user = user.unwrap_or_else(|| match &self.source {
            Source::Local(granted) => User::new("local").with_granted(granted.clone()),
            _ => User::new("local").with_granted(Granted::All),
        });
        let policy = AccessPolicy {
            baseline: self.scopes.clone(),
            hierarchy: self.hierarchy.clone(),
            optional: self.optional,
            shows_all: self.shows_all,
            challenge: None,
        };
        Access::new(Arc::new(policy), Some(Arc::new(user)))
    }

    /// The access of a user of a server without any set-up.
    pub(crate) fn test_access(user: User) -> Access {
        Access::new(Arc::default(), Some(Arc::new(user)))
    }

    /// The options that are set and that a part of [`any_of`](Self::any_of) cannot have: they are about the server.
    fn misplaced(&self) -> impl Iterator<Item = &'static str> + use<> {
        let Metadata { authorization_servers, resource_name, resource_documentation, .. } = &self.metadata;
        let options = [
            ("resource", self.resource.is_some()),
            ("scopes", !self.scopes.is_empty()),
            ("scope_implies", self.hierarchy.is_set()),
            ("optional", self.optional),
            ("show_all", self.shows_all),
            ("serve_issuer_metadata", self.serves_issuer_metadata),
            ("authorization_servers", !authorization_servers.is_empty()),
            ("resource_name", resource_name.is_some()),
            ("documentation", resource_documentation.is_some()),
            ("policy", self.metadata.resource_policy_uri.is_some()),
            ("terms_of_service", self.metadata.resource_tos_uri.is_some()),
            ("dpop", self.possession.has_dpop()),
            ("certificate", self.possession.has_certificate()),
        ];
        options.into_iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option)
    }

    /// All that is wrong with it, whatever it is used for.
    fn own_mistakes(&mut self) -> Vec<String> {
        let mut mistakes = std::mem::take(&mut self.mistakes);
        mistakes.extend(self.scopes.iter().filter_map(|scope| scope::check(scope).err()));
        mistakes
    }
}

/// Neither tokens nor functions.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").field("resource", &self.resource).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}
