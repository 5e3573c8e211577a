//! Handlers that are known only at run time: from a plugin, a configuration, or another server.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::builder::HandlerBuilder;
use super::output::{IntoPromptResult, IntoReadResult, IntoToolResult};
use super::prompt::{self, Prompt, PromptKind};
use super::resource::{self, Resource, ResourceKind};
use super::tool::{self, Tool, ToolKind};
use crate::call::context::Context;
use crate::call::invocation::extract;
use crate::protocol::PromptArgument;
use crate::throttle::rate::RateLimit;

impl Tool {
    /// Starts building a tool whose schema is known only at run time. Prefer [`#[tool]`](macro@crate::tool) for
    /// everything else.
    ///
    /// The arguments are checked against the schema before the handler runs, as those of other tools are. Add the tool
    /// with [`Server::tools`](crate::Server::tools), or to a running server through its
    /// [`handle`](crate::Server::handle).
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    /// use serde_json::Value;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string", "minLength": 1}},
    ///     "required": ["city"],
    /// });
    /// let tool = Tool::builder("weather")
    ///     .description("The weather in a city.")
    ///     .input_schema(schema)
    ///     .read_only(true)
    ///     .handler(async |_ctx, args: Value| format!("It rains in {}.", args["city"]));
    ///
    /// let client = TestClient::connect(Server::new("plugins", "1.0.0").tools([tool])).await?;
    /// assert_eq!(client.call("weather", json!({"city": "Bern"})).await?.text(), "It rains in \"Bern\".");
    /// assert!(client.call("weather", json!({"city": ""})).await?.is_error());
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(name: &str) -> ToolBuilder {
        let mut builder = tool::describe(name);
        builder.set_schema(json!({"type": "object", "properties": {}}));
        ToolBuilder { builder, output: None }
    }
}

impl Prompt {
    /// Starts building a prompt that is known only at run time.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let prompt = Prompt::builder("review")
    ///     .description("Review a file.")
    ///     .argument("file", "The path of the file.")
    ///     .handler(async |_ctx, args| format!("Review {}.", args["file"]));
    ///
    /// let client = TestClient::connect(Server::new("plugins", "1.0.0").prompts([prompt])).await?;
    /// assert_eq!(client.get_prompt("review", json!({"file": "a.rs"})).await?.text(), "Review a.rs.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(name: &str) -> PromptBuilder {
        PromptBuilder { builder: prompt::describe(name) }
    }
}

impl Resource {
    /// Starts building a resource or a resource template that is known only at run time.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::testing::TestClient;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// let files = Resource::builder("disk://{name}", "file")
    ///     .mime("text/plain")
    ///     .handler(async |_ctx, _uri, variables| format!("the contents of {}", variables["name"]));
    ///
    /// let client = TestClient::connect(Server::new("plugins", "1.0.0").resources([files])).await?;
    /// assert_eq!(client.read("disk://a.txt").await?.text(), "the contents of a.txt");
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(uri: &str, name: &str) -> ResourceBuilder {
        ResourceBuilder { builder: resource::describe(uri, name) }
    }
}

/// Builds a [`Tool`] at run time; see [`Tool::builder`].
#[derive(Debug)]
#[must_use = "call `handler` to finish the tool"]
pub struct ToolBuilder {
    builder: HandlerBuilder<ToolKind>,
    output: Option<Value>,
}

/// Builds a [`Prompt`] at run time; see [`Prompt::builder`].
#[derive(Debug)]
#[must_use = "call `handler` to finish the prompt"]
pub struct PromptBuilder {
    builder: HandlerBuilder<PromptKind>,
}

/// Builds a [`Resource`] at run time; see [`Resource::builder`].
#[derive(Debug)]
#[must_use = "call `handler` to finish the resource"]
pub struct ResourceBuilder {
    builder: HandlerBuilder<ResourceKind>,
}

macro_rules! common_methods {
    ($($builder:ident)*) => {$(
        impl $builder {
            /// Sets the display name.
            pub fn title(mut self, title: &str) -> Self {
                self.builder.title(title);
                self
            }

            /// Sets the description.
            pub fn description(mut self, text: &str) -> Self {
                self.builder.description(text);
                self
            }

            /// Adds an icon, by its URL.
            pub fn icon(mut self, src: &str) -> Self {
                self.builder.icon(src);
                self
            }

            /// Sets `_meta`, an object.
            pub fn meta(mut self, meta: Value) -> Self {
                self.builder.meta(meta);
                self
            }

            /// Sets the timeout of a call.
            pub fn timeout(mut self, limit: Duration) -> Self {
                self.builder.timeout(limit);
                self
            }

            /// Limits how often it is called. Call it again for further limits: all of them hold.
            pub fn rate_limit(mut self, limit: RateLimit) -> Self {
                self.builder.rate(limit);
                self
            }

            /// Limits how many calls run at once in this process. The others wait for their turn: up to 16 for each that
            /// runs, and a call beyond that is refused with error `-32000`, over HTTP with 503.
            pub fn max_concurrent(mut self, calls: usize) -> Self {
                self.builder.max_concurrent(calls);
                self
            }

            /// Sets how long a call may be silent before progress is reported for it, instead of
            /// [`Limits::heartbeat`](crate::Limits::heartbeat).
            pub fn heartbeat(mut self, every: Duration) -> Self {
                self.builder.heartbeat(every);
                self
            }
        }
    )*};
}

common_methods! { ToolBuilder PromptBuilder ResourceBuilder }

impl ToolBuilder {
    /// Sets the JSON Schema of the arguments: an object. Without it, the tool takes no arguments.
    ///
    /// A keyword that cannot be checked, such as `$dynamicRef` or a pattern with look-around, is a mistake in the
    /// set-up.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.builder.set_schema(schema);
        self
    }

    /// Sets the JSON Schema of the structured result.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// Hints whether it only reads.
    pub fn read_only(mut self, hint: bool) -> Self {
        self.builder.read_only(hint);
        self
    }

    /// Hints whether it may delete or overwrite data.
    pub fn destructive(mut self, hint: bool) -> Self {
        self.builder.destructive(hint);
        self
    }

    /// Hints whether repeated calls have no further effect.
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.builder.idempotent(hint);
        self
    }

    /// Hints whether it interacts with external systems.
    pub fn open_world(mut self, hint: bool) -> Self {
        self.builder.open_world(hint);
        self
    }

    /// Finishes the tool with its handler. The arguments are one object: a [`Value`], or a type of your own.
    pub fn handler<A, R, F, Fut>(self, function: F) -> Tool
    where
        A: DeserializeOwned + Send + 'static,
        R: IntoToolResult + 'static,
        F: Fn(Context, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let ToolBuilder { mut builder, output } = self;
        builder.takes_context();
        let returns = tool::returns::<R>(&mut builder);
        if output.is_some() {
            builder.kind.output = output;
        }
        builder.future(returns, move |args, invocation| Ok(function(extract(invocation), args.whole()?)))
    }
}

impl PromptBuilder {
    /// Adds an argument that callers must send.
    pub fn argument(self, name: &str, description: &str) -> Self {
        self.add(name, description, true)
    }

    /// Adds an argument that callers may send.
    pub fn optional_argument(self, name: &str, description: &str) -> Self {
        self.add(name, description, false)
    }

    fn add(mut self, name: &str, description: &str, required: bool) -> Self {
        let (name, description) = (name.to_owned(), Some(description.to_owned()));
        self.builder.kind.arguments.push(PromptArgument { name, description, required });
        self
    }

    /// Finishes the prompt with its handler, which gets the arguments by name.
    pub fn handler<R, F, Fut>(self, function: F) -> Prompt
    where
        R: IntoPromptResult + 'static,
        F: Fn(Context, HashMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let mut builder = self.builder;
        let arguments = &builder.kind.arguments;
        let properties: HashMap<_, _> = arguments.iter().map(|arg| (&*arg.name, json!({"type": "string"}))).collect();
        let required: Vec<&str> = arguments.iter().filter(|arg| arg.required).map(|arg| &*arg.name).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        builder.set_schema(schema);
        builder.takes_context();
        let returns = prompt::returns::<R>(&mut builder);
        builder.future(returns, move |args, invocation| Ok(function(extract(invocation), args.texts())))
    }
}

impl ResourceBuilder {
    /// Sets the media type.
    pub fn mime(mut self, mime: &str) -> Self {
        self.builder.mime(mime);
        self
    }

    /// Finishes the resource with its handler, which gets the requested URI, and the variables of a template by name.
    pub fn handler<R, F, Fut>(self, function: F) -> Resource
    where
        R: IntoReadResult + 'static,
        F: Fn(Context, String, HashMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let mut builder = self.builder;
        builder.takes_context();
        let returns = resource::returns::<R>(&mut builder);
        builder.future(returns, move |args, invocation| {
            let uri = invocation.read().map(|read| read.uri.to_owned()).unwrap_or_default();
            Ok(function(extract(invocation), uri, args.texts()))
        })
    }
}

#[cfg(feature = "auth")]
macro_rules! scopes_of {
    ($($builder:ty),*) => {$(
        impl $builder {
            /// Adds scopes that a caller must have. Requires the feature `auth`.
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
                self.builder.scopes(scopes);
                self
            }
        }
    )*};
}

#[cfg(feature = "auth")]
scopes_of!(ToolBuilder, PromptBuilder, ResourceBuilder);
