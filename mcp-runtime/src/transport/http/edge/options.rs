//! The options that switch the parts of the edge on.

use http::HeaderName;

use super::Edge;
use super::health::Health;
use super::request_ids::RequestIds;
use crate::transport::http::{HttpService, Options};

impl HttpService {
    /// Lets pages of the [allowed origins](Self::allow_origins) send these request headers, beside those of MCP: an API
    /// key that middleware of yours reads, for example.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0")
    ///     .into_service()
    ///     .allow_origins(["https://app.example.com"])
    ///     .allow_headers(["X-Api-Key"]);
    /// ```
    ///
    /// # Panics
    ///
    /// Without `allow_origins`, which must be called first. If a name cannot be that of a header.
    #[track_caller]
    pub fn allow_headers(self, headers: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let names: Vec<HeaderName> = headers
            .into_iter()
            .map(|name| {
                let name = name.as_ref();
                name.parse().unwrap_or_else(|_| panic!("`{name}` is not the name of a header"))
            })
            .collect();
        self.with(|options| {
            let cors = options.edge.as_mut().and_then(|edge| edge.cors.as_mut());
            let cors = cors.expect("call `allow_origins` before `allow_headers`: no page may send any without it");
            for name in &names {
                cors.allow(name.as_str());
            }
        })
    }

    /// Answers health probes at these paths: whether the process is alive, and whether it is ready for requests.
    ///
    /// The first is always answered 200. The second is answered 503 from the moment a shutdown begins, and while the
    /// [backend](crate::Server::backend), or else the stores of sessions and tasks, do not answer within 0.7 seconds. They
    /// are asked once a second at most, however many probes there are.
    ///
    /// Probes are `GET` or `HEAD`. They need no token, and no allowed `Host`: an orchestrator uses the address.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().health("/healthz", "/readyz");
    /// ```
    ///
    /// A service nested below a path finds its probes below that path, too.
    ///
    /// # Panics
    ///
    /// If a path does not begin with `/`, or both are the same.
    #[track_caller]
    pub fn health(self, live: impl Into<String>, ready: impl Into<String>) -> Self {
        let (live, ready) = (live.into(), ready.into());
        for path in [&live, &ready] {
            assert!(path.starts_with('/'), "the path of a health probe begins with `/`: {path:?}");
        }
        assert_ne!(live, ready, "health probes have two paths: whether the process lives, and whether it is ready");
        self.with(|options| options.edge().health = Some(Health::new(live, ready)))
    }

    /// Gives every request an id: that of its `X-Request-Id`, if it is well-formed, or else a new one. The response has it
    /// in the same header, the log of refused requests names it, and handlers have
    /// [`Context::http_request_id`](crate::Context::http_request_id).
    ///
    /// An id has up to 128 letters, digits and any of `-_.~:/+=@`. It is the client's word, or the proxy's: use it to find
    /// lines of a log, not for decisions.
    ///
    /// ```
    /// use mcp_runtime::Server;
    ///
    /// let service = Server::new("maps", "1.0.0").into_service().request_ids();
    /// ```
    #[track_caller]
    pub fn request_ids(self) -> Self {
        self.with(|options| options.edge().request_ids = Some(RequestIds::new()))
    }
}

impl Options {
    /// The edge, which exists from now on.
    fn edge(&mut self) -> &mut Edge {
        self.edge.get_or_insert_default()
    }

    /// Switches CORS on or off.
    pub(in crate::transport::http) fn set_cors(&mut self, on: bool) {
        match (on, &mut self.edge) {
            (true, _) => {
                self.edge().cors.get_or_insert_default();
            }
            (false, Some(edge)) => edge.cors = None,
            (false, None) => {}
        }
    }
}
