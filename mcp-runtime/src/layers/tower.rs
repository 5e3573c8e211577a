//! Layers of tower around calls.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Call, Layer, Next, Outcome};
use crate::error::Error;
use crate::server::Server;
use crate::sync::lock;

/// What a layer of tower gets as its inner service: it runs the rest of a call. See [`Server::tower_layer`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NextService;

impl Service<Call> for NextService {
    type Response = Outcome;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Outcome, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: Call) -> Self::Future {
        let next = call.next.take();
        Box::pin(async move {
            Ok(match next {
                Some(next) => next.run(call).await,
                None => Error::internal("a layer of tower called its service with a call of another").into(),
            })
        })
    }
}

/// A service of tower, as a layer. It is built once, and cloned for each call: what its clones share holds for all calls.
struct TowerLayer<S>(Mutex<S>);

impl<S> Layer for TowerLayer<S>
where
    S: Service<Call, Response = Outcome, Error: Into<Error> + Send, Future: Send> + Clone + Send + 'static,
{
    async fn call(&self, mut call: Call, next: Next) -> Outcome {
        call.next = Some(next);
        let mut service = lock(&self.0).clone();
        if let Err(error) = poll_fn(|cx| service.poll_ready(cx)).await {
            return error.into().into();
        }
        service.call(call).await.unwrap_or_else(|error| error.into().into())
    }
}

impl Server {
    /// Adds a layer of [tower](https://docs.rs/tower) around every call, as [`layer`](Self::layer) does. Requires the
    /// feature `tower`.
    ///
    /// Its service gets a [`Call`] and responds with an [`Outcome`]; the error of the service becomes the error of the
    /// call. The service is built once and cloned for each call, so a limit holds for all calls if clones share it, as
    /// those of `ConcurrencyLimit` do.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use tower_layer::Identity;
    ///
    /// // Or `tower::limit::ConcurrencyLimitLayer::new(8)`, a `ServiceBuilder`, or one of your own.
    /// let server = Server::new("limited", "1.0.0").tower_layer(Identity::new());
    /// ```
    pub fn tower_layer<L>(self, layer: L) -> Self
    where
        L: tower_layer::Layer<NextService>,
        L::Service: Service<Call, Response = Outcome, Error: Into<Error> + Send, Future: Send> + Clone + Send + 'static,
    {
        self.layer(TowerLayer(Mutex::new(layer.layer(NextService))))
    }
}
