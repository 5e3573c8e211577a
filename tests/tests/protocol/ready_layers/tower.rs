//! Layers of tower.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::Revision;
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use tower_service::Service;

use super::texts;

/// A layer of tower: counts calls, and refuses those beyond its limit.
#[derive(Clone)]
struct Limit<S> {
    inner: S,
    left: Arc<AtomicUsize>,
}

impl<S: Service<Call, Response = Outcome>> Service<Call> for Limit<S>
where
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send + 'static,
{
    type Response = Outcome;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        if self.left.load(Ordering::SeqCst) == 0 {
            return std::task::Poll::Ready(Err("no calls left".into()));
        }
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.left.fetch_sub(1, Ordering::SeqCst);
        let done = self.inner.call(call);
        Box::pin(async move { done.await.map_err(Into::into) })
    }
}

#[tokio::test]
async fn layers_of_tower_surround_calls() -> Result<()> {
    for &revision in Revision::ALL {
        let left = Arc::new(AtomicUsize::new(2));
        let limit = tower_layer::layer_fn(move |inner| Limit { inner, left: Arc::clone(&left) });
        let client = TestClient::with_revision(texts().tower_layer(limit), revision).await?;
        assert_eq!(client.call("text", json!({"length": 2})).await?.text(), "é");
        assert_eq!(client.read("text://long").await?.text().len(), 1000);
        let refused = client.call("text", json!({"length": 2})).await?;
        assert_eq!((refused.is_error(), &*refused.text()), (true, "no calls left"), "{revision}");
    }
    Ok(())
}

/// A layer of tower whose service is ready only after a while, and notes its name.
#[derive(Clone)]
struct Late<S> {
    inner: S,
    polls: usize,
}

impl<S: Service<Call, Response = Outcome>> Service<Call> for Late<S> {
    type Response = Outcome;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        if self.polls > 0 {
            self.polls -= 1;
            cx.waker().wake_by_ref();
            return std::task::Poll::Pending;
        }
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.inner.call(call)
    }
}

#[tokio::test]
async fn service_of_tower_may_wait_until_it_is_ready() -> Result<()> {
    let late = tower_layer::layer_fn(|inner| Late { inner, polls: 3 });
    let client = TestClient::connect(texts().tower_layer(late)).await?;
    for _ in 0..2 {
        assert_eq!(client.call("text", json!({"length": 2})).await?.text(), "é");
    }
    Ok(())
}

#[tokio::test]
async fn layers_of_tower_keep_their_order_among_others() -> Result<()> {
    async fn around(call: Call, next: Next, sign: &str) -> Outcome {
        let mut outcome = next.run(call).await;
        outcome.edit_texts(|text| Some(format!("{sign}{text}")));
        outcome
    }
    #[derive(Clone)]
    struct Signs<S>(S);
    impl<S: Service<Call, Response = Outcome, Future: Send + 'static>> Service<Call> for Signs<S> {
        type Response = Outcome;
        type Error = S::Error;
        type Future = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, S::Error>> + Send>>;

        fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
            self.0.poll_ready(cx)
        }

        fn call(&mut self, call: Call) -> Self::Future {
            let done = self.0.call(call);
            Box::pin(async move {
                let mut outcome = done.await?;
                outcome.edit_texts(|text| Some(format!("2{text}")));
                Ok(outcome)
            })
        }
    }
    let server = texts()
        .layer(|call: Call, next: Next| around(call, next, "1"))
        .tower_layer(tower_layer::layer_fn(Signs))
        .layer(|call: Call, next: Next| around(call, next, "3"));
    let client = TestClient::connect(server).await?;
    assert_eq!(client.call("text", json!({"length": 2})).await?.text(), "123é");
    Ok(())
}
