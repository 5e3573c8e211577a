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
        // Panics are not in closures: `track_caller` does not reach into closures.
        let mut names = Vec::new();
        for name in headers {
            let name = name.as_ref();
            let Ok(header) = name.parse::<HeaderName>() else { panic!("`{name}` is not the name of a header") };
            names.push(header);
        }
        let has_cors = self.0.options.edge.as_ref().is_some_and(|edge| edge.cors.is_some());
        assert!(has_cors, "call `allow_origins` before `allow_headers`: no page may send any without it");
        self.with(|options| {
            if let Some(cors) = &mut options.edge().cors {
                for name in &names {
                    cors.allow(name.as_str());
                }
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
    /// If a path does not begin with `/`, if both are the same, or if one is that of the [endpoint](Self::endpoint), which
    /// would not be reached.
    #[track_caller]
    pub fn health(self, live: impl Into<String>, ready: impl Into<String>) -> Self {
        let (live, ready) = (live.into(), ready.into());
        for path in [&live, &ready] {
            assert!(path.starts_with('/'), "the path of a health probe begins with `/`: {path:?}");
        }
        assert_ne!(live, ready, "health probes have two paths: whether the process lives, and whether it is ready");
        let service = self.with(|options| options.edge().health = Some(Health::new(live, ready)));
        service.assert_endpoint_is_reached();
        service
    }

    #[track_caller]
    pub(in crate::transport::http) fn assert_endpoint_is_reached(&self) {
        let options = &self.0.options;
        if let Some(mistake) = options.hidden_endpoint(options.endpoint.as_deref()) {
            panic!("{mistake}");
        }
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
    /// What is wrong if a probe has the path of the endpoint.
    pub(in crate::transport::http) fn hidden_endpoint(&self, endpoint: Option<&str>) -> Option<String> {
        let health = self.edge.as_ref()?.health.as_ref()?;
        let hidden = endpoint.filter(|path| [&*health.live, &*health.ready].contains(path))?;
        Some(format!("`{hidden}` is the path of a health probe and of the endpoint: choose another with `health`"))
    }

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
