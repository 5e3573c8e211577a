//! The log: one line when the server goes away, one when it is back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::server::{Server, eventually};

/// A line of the log: the address of a server, and the message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Line {
    address: String,
    message: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "address" => self.address = format!("{value:?}"),
            "message" => self.message = format!("{value:?}"),
            _ => {}
        }
    }
}

/// The lines of this crate, of all tests: which events are recorded is decided for a process, not for a thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("mcp_redis") {
            let mut line = Line::default();
            event.record(&mut line);
            self.0.lock().unwrap().push(line);
        }
    }
}

#[tokio::test]
async fn outage_is_logged_once_each_way() {
    let lines = Lines::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines.clone())).unwrap();
    let mut server = Server::start().await;
    let redis = server.connect().await;
    server.kill();
    eventually("the loss is noticed", async || redis.ping().await.is_err()).await;
    for _ in 0..200 {
        assert!(redis.ping().await.is_err());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.revive().await;
    eventually("recovery", async || redis.ping().await.is_ok()).await;
    let address = format!("127.0.0.1:{}", server.port);
    let lines = lines.0.lock().unwrap().clone();
    let own: Vec<_> = lines.iter().filter(|line| line.address == address).map(|line| &*line.message).collect();
    assert_eq!(own, ["Redis is away; connecting again", "Redis is back"]);
}
