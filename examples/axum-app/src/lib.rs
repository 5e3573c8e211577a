//! Two MCP servers inside an axum application, next to its own pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use mcp_runtime::{ServerHandle, prelude::*};

/// The state shared by the whole application.
#[derive(Debug, Default)]
pub struct App {
    visits: AtomicU64,
}

/// The authenticated user, set by a middleware.
#[derive(Debug, Clone)]
struct User(String);

/// Handlers with access to the application's state, through `self`.
struct Counter {
    app: Arc<App>,
}

#[handlers]
impl Counter {
    /// Count the visits of the front page.
    #[tool(read_only)]
    fn visits(&self) -> u64 {
        self.app.visits.load(Ordering::Relaxed)
    }

    /// Return the name of the user.
    #[tool(read_only)]
    fn whoami(&self, ctx: &Context) -> Option<String> {
        let user = ctx.http()?.extensions.get::<User>()?;
        Some(user.0.clone())
    }
}

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The server with access to the application's state.
pub fn counter(app: Arc<App>) -> Server {
    Server::new("counter", "1.0.0").mount(Counter { app })
}

/// The server without.
pub fn calculator() -> Server {
    Server::new("calculator", "1.0.0").tools(tools![add])
}

/// The application, and handles to shut down its servers.
pub fn app() -> (Router, [ServerHandle; 2]) {
    let app = Arc::new(App::default());
    let counter = counter(Arc::clone(&app)).into_service();
    let counter = counter.principal(|parts| parts.extensions.get::<User>().map(|user| user.0.clone()));
    let calculator = calculator().into_service();
    let handles = [counter.handle(), calculator.handle()];
    let router = Router::new()
        .route("/", get(front_page))
        .nest_service("/counter", counter)
        .nest_service("/calculator", calculator)
        .layer(middleware::from_fn(authenticate))
        .with_state(app);
    (router, handles)
}

async fn front_page(State(app): State<Arc<App>>) -> String {
    format!("You are visitor {}.", app.visits.fetch_add(1, Ordering::Relaxed) + 1)
}

/// A stand-in for authentication: trusts the `x-user` header.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let name = request.headers().get("x-user").and_then(|name| name.to_str().ok()).map(str::to_owned);
    if let Some(name) = name {
        request.extensions_mut().insert(User(name));
    }
    next.run(request).await
}
