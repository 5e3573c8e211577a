//! The options of an [`HttpService`]: allowed hosts and origins, the principal hook, stores, and what is served.

use std::any::Any;
use std::sync::Arc;

use http::request::Parts;

use super::request::origin;
use super::request::proxies::Proxies;
use super::session::stores::Stores;
use super::{HttpService, Options};
use crate::server::{self, Server};
use crate::store::{EventStore, SessionStore};

/// What is set on the service that a server becomes, in this order.
#[derive(Default)]
struct SetUp(Vec<Box<dyn FnOnce(HttpService) -> HttpService + Send + Sync>>);

impl Server {
    /// Sets options of HTTP on the server, for every way to serve it: `run` with `--http`, [`serve_http`](Self::serve_http)
    /// and [`into_service`](Self::into_service). Without it, `run --http` serves with the defaults. Requires the feature
    /// `http`.
    ///
    /// The functions are called when the service is made, in the order they were added. On stdio they are not called.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let server = Server::new("maps", "1.0.0")
    ///     .http(|service| service.allow_hosts(["mcp.example.com"]).health("/healthz", "/readyz"));
    /// ```
    pub fn http(mut self, options: impl FnOnce(HttpService) -> HttpService + Send + Sync + 'static) -> Self {
        let set_up: &mut Box<dyn Any + Send + Sync> = self.http.get_or_insert_with(|| Box::new(SetUp::default()));
        if let Some(SetUp(functions)) = set_up.downcast_mut() {
            functions.push(Box::new(options));
        }
        self
    }
}

impl HttpService {
    /// The service, with what [`Server::http`] has set.
    pub(super) fn set_up(self, set_up: Option<Box<dyn Any + Send + Sync>>) -> Self {
        let functions = set_up.and_then(|set_up| set_up.downcast::<SetUp>().ok()).map(|set_up| set_up.0);
        functions.into_iter().flatten().fold(self, |service, options| options(service))
    }

    /// Sets the allowed host names, without ports; `*` allows any. Requests with another `Host` are answered 403.
    ///
    /// Default: `localhost`, `127.0.0.1` and `[::1]`. The check protects a server on a developer's machine from web pages
    /// that reach it under a name of their own (DNS rebinding). The list replaces the default, so include `localhost` if
    /// it should keep working. An empty list restores the default. `*` allows any host, not any web page: name those with
    /// [`allow_origins`](Self::allow_origins).
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().allow_hosts(["mcp.example.com", "localhost"]);
    /// ```
    ///
    /// # Panics
    ///
    /// If a name can never match: it is empty, or has a scheme, a path or a port.
    #[track_caller]
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let hosts: Vec<String> = hosts.into_iter().map(Into::into).collect();
        for host in &hosts {
            if let Err(mistake) = origin::check_host(host) {
                panic!("{mistake}");
            }
        }
        self.with(|options| options.origin_policy.hosts = hosts)
    }

    /// Sets the allowed origins of web pages, like `https://app.example.com`; `*` allows any. Requests with another
    /// `Origin` are answered 403; requests without `Origin` pass.
    ///
    /// Default: pages served from the [allowed hosts](Self::allow_hosts) that are named; if the only one is `*`, pages
    /// served from loopback. The list replaces the default; an empty list restores it.
    ///
    /// A list also switches CORS on: preflight requests of pages with these origins are answered, without a token, and the
    /// pages may read every response, errors included, with the headers that MCP clients need. They may send the headers of
    /// MCP, and those that [`allow_headers`](Self::allow_headers) names; cookies mean nothing. Without a list, a page that is
    /// allowed by default may send requests, but a browser does not let a page of another origin read the responses.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0")
    ///     .into_service()
    ///     .allow_hosts(["mcp.example.com"])
    ///     .allow_origins(["https://app.example.com", "http://localhost:6274"]); // a page, and the MCP Inspector
    /// ```
    ///
    /// # Panics
    ///
    /// If an origin can never match: it has no scheme, or a path.
    #[track_caller]
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins: Vec<String> = origins.into_iter().map(Into::into).collect();
        for origin in &origins {
            if let Err(mistake) = origin::check_origin(origin) {
                panic!("{mistake}");
            }
        }
        self.with(|options| {
            options.set_cors(!origins.is_empty());
            options.origin_policy.origins = origins;
        })
    }

    /// Sets the hook that names the principal of a request: the authenticated caller, as found by middleware.
    ///
    /// Sessions and tasks belong to the principal that created them; for others they do not exist. Quotas
    /// ([`Limits::in_flight`](crate::Limits::in_flight), [`Limits::streams`](crate::Limits::streams) and the
    /// `…_per_principal` ones) count per principal. Handlers read it with
    /// [`Context::principal`](crate::Context::principal).
    ///
    /// `None` is an anonymous caller, which is served, too. To reject callers, use middleware, or `authorize` with the
    /// feature `auth`, with which the hook is not asked. If the hook panics, the
    /// request is answered 500.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// #[derive(Clone)]
    /// struct User { id: String } // middleware puts it into the request's extensions
    ///
    /// let service = Server::new("maps", "1.0.0")
    ///     .into_service()
    ///     .principal(|parts| parts.extensions.get::<User>().map(|user| user.id.clone()));
    /// ```
    #[track_caller]
    pub fn principal(self, principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|options| options.principal = Some(Arc::new(principal)))
    }

    /// Trusts these proxies, addresses or networks like `10.0.0.0/8`, to say in `X-Forwarded-For` who the
    /// [peer](super::Peer) of a request is, and in `X-Forwarded-Host` and `X-Forwarded-Proto` how it has addressed them.
    /// Default: none, and the peer is the other end of the connection.
    ///
    /// Behind a proxy that is not trusted, all clients look like one peer, and share what one peer may use of the server.
    /// The peer is the last address in the list that is not a trusted proxy. The host is checked against the
    /// [allowed hosts](Self::allow_hosts) in place of `Host`, and a [`Forwarded`](super::Forwarded) among the extensions of
    /// the request tells handlers.
    ///
    /// Trust only proxies that append to these headers, replace or remove them: from one that passes them on, they are the
    /// client's word. `unix` trusts connections without an address: those of a Unix socket, or of a nested service whose
    /// middleware knows none.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().trust_proxies(["127.0.0.1", "10.0.0.0/8"]);
    /// ```
    ///
    /// # Panics
    ///
    /// If one is neither an address nor a network. With [`trust_forwarded`](Self::trust_forwarded).
    #[track_caller]
    pub fn trust_proxies(self, proxies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.trust(Proxies::parse(proxies))
    }

    /// Like [`trust_proxies`](Self::trust_proxies), for proxies that write the header `Forwarded` of RFC 7239. The
    /// `X-Forwarded-…` headers are then not read, as `Forwarded` is not read otherwise: a proxy passes on what it does not
    /// write.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().trust_forwarded(["10.0.0.0/8"]);
    /// ```
    ///
    /// # Panics
    ///
    /// If one is neither an address nor a network. With `trust_proxies`.
    #[track_caller]
    pub fn trust_forwarded(self, proxies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.trust(Proxies::parse(proxies).map(Proxies::standard))
    }

    /// Not in closures: `track_caller` does not reach into closures.
    #[track_caller]
    fn trust(self, proxies: Result<Proxies, String>) -> Self {
        let proxies = match proxies {
            Ok(proxies) => proxies,
            Err(mistake) => panic!("{mistake}"),
        };
        assert!(
            !self.0.options.proxies.contradicts(&proxies),
            "call `trust_proxies` or `trust_forwarded`, not both: one of the two dialects is read, whoever the proxy is"
        );
        self.with(|options| options.proxies = proxies)
    }

    /// Stores the sessions of clients of 2025-03-26 to 2025-11-25, so that any replica can serve them, also after a
    /// restart. See [`store`](crate::store).
    ///
    /// Every request loads its session from the store. Running calls do not migrate, and with this alone
    /// `notifications/cancelled` and answers to questions must reach the replica that runs the call. With a
    /// [`backend`](crate::Server::backend) they may arrive anywhere.
    #[track_caller]
    pub fn session_store(self, store: Arc<impl SessionStore>) -> Self {
        self.with(|options| options.stores = Some(Arc::new(Stores::new(store))))
    }

    /// Sets the stores of a backend.
    #[track_caller]
    pub(crate) fn with_stores(self, backend: server::Stores) -> Self {
        let mut stores = Stores::new(backend.sessions);
        stores.set_events(backend.events);
        stores.inbox = Some(backend.inbox);
        stores.replica = backend.replica;
        stores.set_backend(backend.backend);
        self.with(|options| options.stores = Some(Arc::new(stores)))
    }

    /// Stores the events of sessions' streams, so that a client can resume a stream at any replica. See
    /// [`store`](crate::store).
    ///
    /// # Panics
    ///
    /// Without a [`session_store`](Self::session_store), which must be set first: other replicas would not know the
    /// session.
    #[track_caller]
    pub fn event_store(self, store: Arc<impl EventStore>) -> Self {
        assert!(
            self.0.options.stores.is_some(),
            "call `session_store` before `event_store`: without it other replicas do not know the session"
        );
        self.with(|options| {
            if let Some(stores) = options.stores.as_mut().and_then(Arc::get_mut) {
                stores.set_events(store);
            }
        })
    }

    /// Serves clients of 2025-03-26 to 2025-11-25 without sessions: every request by itself, at any replica. Requests of
    /// 2026-07-28 are always served like that.
    ///
    /// These clients then get no change notifications, handlers cannot ask them, streams cannot be resumed, and
    /// `logging/setLevel` and `resources/subscribe` have no effect.
    #[track_caller]
    pub fn stateless(self) -> Self {
        self.with(|options| options.stateless = true)
    }

    /// Also serves the deprecated HTTP+SSE transport of 2024-11-05: clients open a stream with `GET …/sse`, and send
    /// messages with `POST …/messages`. Off by default. Its connections live in the memory of one replica.
    #[track_caller]
    pub fn legacy_sse(self) -> Self {
        self.with(|options| options.legacy_sse = true)
    }

    /// Sets the path of the endpoint. Other paths are answered 404.
    ///
    /// Default: `/mcp` with [`serve`](Self::serve); every path if the service is nested, where the framework has routed
    /// the request already.
    ///
    /// # Panics
    ///
    /// If it is the path of a [health probe](Self::health).
    #[track_caller]
    pub fn endpoint(self, path: impl Into<String>) -> Self {
        let service = self.with(|options| options.endpoint = Some(path.into()));
        service.assert_endpoint_is_reached();
        service
    }

    #[track_caller]
    pub(super) fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        let service = Arc::get_mut(&mut self.0).expect("set the options of an `HttpService` before cloning it");
        change(&mut service.options);
        self
    }
}
