//! [`IntoToolResult`]: the return types of tools.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Json;
use crate::error::{HandlerError, Result};
use crate::protocol::{Content, ToolResult};

/// A type that a [`#[tool]`](macro@crate::tool) function can return.
///
/// Implement it for a type of your own that several tools return:
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::{IntoToolResult, ToolResult, testing::TestClient};
///
/// struct Euros(i64);
///
/// impl IntoToolResult for Euros {
///     fn into_tool_result(self) -> Result<ToolResult> {
///         Ok(ToolResult::text(format!("€ {}", self.0)))
///     }
/// }
///
/// /// The price of an article.
/// #[tool]
/// fn price(article: String) -> Euros {
///     Euros(if article == "tea" { 4 } else { 5 })
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// let client = TestClient::connect(Server::new("shop", "1.0.0").tools(tools![price])).await?;
/// assert_eq!(client.call("price", json!({"article": "tea"})).await?.text(), "€ 4");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a tool",
    label = "not a tool result",
    note = "return text, a number, `bool`, `()`, `Json<T>`, `Content`, `Vec<Content>`, `ToolResult`, or an `Option` or `Result` of these",
    note = "to send it as structured JSON, return `Json<_>` and derive `serde::Serialize` and `schemars::JsonSchema`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#return-types"
)]
pub trait IntoToolResult {
    /// Converts the value into a result. An error fails the call, as an error of the handler does.
    fn into_tool_result(self) -> Result<ToolResult>;

    /// The schema of the structured content, if the type has one.
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::default())
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([self]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new(self))
    }
}

impl<const N: usize> IntoToolResult for [Content; N] {
    fn into_tool_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new(self))
    }
}

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> Result<ToolResult> {
        self.map_or_else(|| Ok(ToolResult::default()), T::into_tool_result)
    }
    // No schema, even where `T` has one: `None` would not conform to it.
}

impl<T: IntoToolResult, E: HandlerError> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }
}

impl<T: Structured> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult> {
        ToolResult::default().with_structured(&self.0)
    }

    fn output_schema() -> Option<Value> {
        crate::schema::input::output::<T>()
    }
}

macro_rules! text_results {
    ($($ty:ty)*) => {$(
        impl IntoToolResult for $ty {
            fn into_tool_result(self) -> Result<ToolResult> {
                Ok(ToolResult::text(self))
            }
        }
    )*};
}

text_results! { String &str &String Cow<'_, str> Box<str> }

macro_rules! printed_results {
    ($($ty:ty)*) => {$(
        impl IntoToolResult for $ty {
            fn into_tool_result(self) -> Result<ToolResult> {
                Ok(ToolResult::text(self.to_string()))
            }
        }
    )*};
}

printed_results! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char }

/// A type that [`Json`] can send as structured content: serializable, with a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent as structured JSON",
    label = "inside `Json`, but has no schema or cannot be serialized",
    note = "add `#[derive(serde::Serialize, schemars::JsonSchema)]` to it, and to every type inside it",
    note = "`JsonSchema` must be that of schemars 1, as in `mcp_runtime::schemars`; for a type of another crate, enable the crate's feature: `schemars = {{ version = \"1\", features = [\"chrono04\"] }}`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#return-types"
)]
pub trait Structured: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Structured for T {}
