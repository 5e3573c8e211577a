//! Who a test client says it is, and what it says it can.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::TestClient;
use crate::error::Result;
use crate::protocol::Revision;
use crate::server::Server;

/// What a client says of itself.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) revision: Revision,
    name: String,
    version: String,
    capabilities: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Identity {
    pub(super) fn new(revision: Revision) -> Self {
        Identity {
            revision,
            name: "test-client".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: Map::new(),
            meta: Map::new(),
        }
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }

    /// The parameters of `initialize`.
    pub(super) fn greeting(&self) -> Value {
        json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": self.info(),
        })
    }

    /// Adds what every request carries; what the request says itself stays.
    pub(super) fn sign(&self, params: &mut Value) {
        let mut meta = self.meta.clone();
        if self.revision.is_modern() {
            meta.extend([
                ("io.modelcontextprotocol/protocolVersion".to_owned(), json!(self.revision)),
                ("io.modelcontextprotocol/clientCapabilities".to_owned(), json!(self.capabilities)),
                ("io.modelcontextprotocol/clientInfo".to_owned(), self.info()),
            ]);
        }
        if let (false, Value::Object(params)) = (meta.is_empty(), params) {
            match params.get_mut("_meta") {
                Some(Value::Object(own)) => {
                    meta.extend(std::mem::take(own));
                    *own = meta;
                }
                _ => {
                    params.insert("_meta".to_owned(), Value::Object(meta));
                }
            }
        }
    }
}

/// A [`TestClient`] to be, from [`TestClient::builder`].
#[derive(Debug)]
#[must_use = "it is no client until it connects"]
pub struct TestClientBuilder {
    pub(super) server: Server,
    pub(super) identity: Identity,
}

impl TestClientBuilder {
    /// Speaks this revision; without, the newest.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.identity.revision = revision;
        self
    }

    /// Has this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }

    /// Says that it can do something, with these settings: `capability("sampling", json!({}))`.
    pub fn capability(mut self, name: impl Into<String>, settings: impl Serialize) -> Self {
        self.identity.capabilities.insert(name.into(), json!(settings));
        self
    }

    /// Puts an entry into the `_meta` of every request.
    pub fn meta(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.identity.meta.insert(key.into(), json!(value));
        self
    }

    /// Connects, with the handshake of the revision if it has one.
    pub async fn connect(self) -> Result<TestClient> {
        let client = TestClient::serve(self.server, self.identity);
        if !client.identity.revision.is_modern() {
            client.request("initialize", client.identity.greeting()).await?;
            client.notify("notifications/initialized", &json!({}))?;
        }
        Ok(client)
    }
}
