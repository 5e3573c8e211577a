//! [`Target`]: the server that commands ask, and what is known of it.

use std::time::Duration;

use serde_json::Value;

use super::error::CliError;
use super::query::QueryOptions;
use super::questions::Questions;
use crate::client::{TestClient, TestClientBuilder};
use crate::error::ServerError;
use crate::jsonrpc::error::RpcError;
use crate::protocol::{Implementation, Meta, PromptDescriptor, ResourceDescriptor, TemplateDescriptor, ToolDescriptor};
use crate::server::Server;
use crate::surface::{Identity, Offered, Surface};

/// The server that a [`Query`](super::Query) asks: this program's own, or one at the other end of a connection.
#[derive(Debug)]
pub struct Target {
    client: TestClientBuilder,
    /// What a server in this process offers; others are asked.
    pub(super) surface: Option<Surface>,
}

impl Target {
    /// A server at the other end of a connection: [`TestClient::over`].
    pub fn new(client: TestClientBuilder) -> Self {
        Target { client, surface: None }
    }

    pub(super) fn server(server: Server) -> Self {
        let surface = Some(server.surface());
        Target { client: TestClient::builder(server), surface }
    }

    /// Connects with everything a command line can do: it asks the person, and waits for tasks.
    pub(super) async fn connect(self, options: &QueryOptions, limit: Duration) -> Result<TestClient, CliError> {
        let mut client = self.client.name("mcp-cli").tasks();
        if let Some(uri) = current_directory() {
            client = client.roots([(uri, "current directory".to_owned())]);
        }
        if let Some(revision) = options.revision {
            client = client.revision(revision);
        }
        let client = Questions::new(&options.answers).ask_through(client);
        Ok(client.connect_within(limit).await?)
    }
}

/// The working directory as a `file:` URI.
fn current_directory() -> Option<String> {
    let path = std::env::current_dir().ok()?;
    let path = path.to_str()?.replace('\\', "/");
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    Some(format!(
        "file://{}{}",
        if path.starts_with('/') { "" } else { "/" },
        path.bytes().map(encode).collect::<String>()
    ))
}

/// Who the server says it is.
pub(super) async fn implementation(client: &TestClient) -> Result<(Implementation, Value), CliError> {
    let about = client.about().await?;
    let info = match about.get("serverInfo") {
        Some(info) => info,
        None => &about["_meta"]["io.modelcontextprotocol/serverInfo"],
    };
    let text = |key: &str| info[key].as_str().map(str::to_owned);
    let info = Implementation {
        name: text("name").unwrap_or_else(|| "server".to_owned()),
        version: text("version").unwrap_or_default(),
        title: text("title"),
        description: text("description"),
        website_url: text("websiteUrl"),
        icons: serde_json::from_value(info["icons"].clone()).unwrap_or_default(),
    };
    Ok((info, about))
}

/// Everything a server offers, as far as its lists tell.
pub(super) async fn surface(client: &TestClient) -> Result<Surface, CliError> {
    let (Implementation { name, version: _, title, description, website_url, icons }, about) =
        implementation(client).await?;
    let Lists { tools, prompts, resources, templates } = Lists::of(client).await?;
    Ok(Surface {
        server: Identity { name, title, description, website_url, icons },
        instructions: about["instructions"].as_str().map(str::to_owned),
        capabilities: about["capabilities"].as_object().cloned().unwrap_or_else(Meta::new),
        tools: offered(tools),
        prompts: offered(prompts),
        resources: offered(resources),
        resource_templates: offered(templates),
        methods: Vec::new(),
        notifications: Vec::new(),
    })
}

/// Items as a list tells of them.
fn offered<T>(items: Vec<T>) -> Vec<Offered<T>> {
    let offered = |item| Offered {
        item,
        requires: Vec::new(),
        scopes: Vec::new(),
        subscribe: false,
        returns_plain_json: false,
        idle_layers: Vec::new(),
    };
    items.into_iter().map(offered).collect()
}

/// The lists of a server.
pub(super) struct Lists {
    pub(super) tools: Vec<ToolDescriptor>,
    pub(super) prompts: Vec<PromptDescriptor>,
    pub(super) resources: Vec<ResourceDescriptor>,
    pub(super) templates: Vec<TemplateDescriptor>,
}

impl Lists {
    pub(super) async fn of(client: &TestClient) -> Result<Self, CliError> {
        Ok(Lists {
            tools: listed(client.list_tools()).await?,
            prompts: listed(client.list_prompts()).await?,
            resources: listed(client.list_resources()).await?,
            templates: listed(client.list_templates()).await?,
        })
    }
}

/// A list, empty if the server has no method for it. Servers with resources, for example, need not have templates.
pub(super) async fn listed<T>(list: impl Future<Output = Result<Vec<T>, ServerError>>) -> Result<Vec<T>, CliError> {
    match list.await {
        Err(error) if error.code() == Some(RpcError::METHOD_NOT_FOUND) => Ok(Vec::new()),
        listed => Ok(listed?),
    }
}
