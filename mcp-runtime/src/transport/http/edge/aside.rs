//! The answers that are none of the endpoint's: probes, and documents about the service.

use std::pin::Pin;
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Response, StatusCode};

use super::health::{CHECK, Health, told};
use crate::server::core::Core;
use crate::server::state::Phase;
use crate::store::with_timeout;
use crate::transport::http::response::body::Body;
use crate::transport::http::session::stores::{NOBODY, Stores};
use crate::transport::http::{Service, response};

/// Boxed, so that requests that are served do not carry its size.
type Aside<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

impl Service {
    /// The answer to a request that is not for the endpoint.
    #[inline]
    pub(in crate::transport::http) fn aside<'a>(&'a self, parts: &Parts) -> Option<Aside<'a>> {
        if let Some(health) = self.options.edge.as_ref().and_then(|edge| edge.health.as_ref())
            && let Some(probed) = self.probed(health, parts)
        {
            return Some(probed);
        }
        #[cfg(feature = "auth")]
        return self.well_known(parts);
        #[cfg(not(feature = "auth"))]
        None
    }

    /// The answer to a request, if it is a probe.
    fn probed<'a>(&'a self, health: &'a Health, parts: &Parts) -> Option<Aside<'a>> {
        let path = parts.uri.path();
        let (is_live, is_ready) = (path == health.live, path == health.ready);
        if !is_live && !is_ready {
            return None;
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(Box::pin(std::future::ready(response::not_allowed("GET, HEAD"))));
        }
        Some(Box::pin(
            async move { if is_live { told(StatusCode::OK, "alive\n") } else { self.readiness(health).await } },
        ))
    }

    async fn readiness(&self, health: &Health) -> Response<Body> {
        let stops = || self.core.shared.phase() > Phase::Running;
        let ask = ask_stores(self.options.stores.clone(), Arc::clone(&self.core));
        if !stops() && !health.stores_answer(ask).await {
            return told(StatusCode::SERVICE_UNAVAILABLE, "a store does not answer; the log says more\n");
        }
        // Also when the shutdown has begun meanwhile.
        if stops() {
            return told(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
        }
        told(StatusCode::OK, "ready\n")
    }
}

/// Whether the stores answer, asked now.
async fn ask_stores(stores: Option<Arc<Stores>>, core: Arc<Core>) -> bool {
    let stores = async {
        match &stores {
            Some(stores) => stores.answer(CHECK).await,
            None => true,
        }
    };
    let tasks = async {
        // Tasks with a replica are the backend's, which answers for all of its stores.
        core.tasks.replica.is_some() || with_timeout(CHECK, "tasks", core.tasks.store.load(NOBODY)).await.is_ok()
    };
    let (stores, tasks) = tokio::join!(stores, tasks);
    stores && tasks
}
