//! [`IntoReadResult`]: the return types of resources.

use std::borrow::Cow;

use serde::Serialize;

use super::Json;
use crate::error::{Error, HandlerError, Result};
use crate::protocol::{ReadResult, ResourceContents};

/// A type that a [`#[resource]`](macro@crate::resource) function can return.
///
/// ```
/// use mcp_runtime::protocol::{ReadResult, ResourceContents};
/// use mcp_runtime::{IntoReadResult, Result};
///
/// /// Rows of a table, as CSV.
/// struct Csv(Vec<[&'static str; 2]>);
///
/// impl IntoReadResult for Csv {
///     fn into_read_result(self, uri: &str) -> Result<ReadResult> {
///         let lines: String = self.0.iter().map(|row| row.join(",") + "\n").collect();
///         Ok(ReadResult::new([ResourceContents::text(lines).with_uri(uri).with_mime("text/csv")]))
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let read = Csv(vec![["tea", "4"], ["coffee", "5"]]).into_read_result("prices://all")?;
/// assert_eq!(read.contents()[0].as_text(), Some("tea,4\ncoffee,5\n"));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a resource",
    label = "not the contents of a resource",
    note = "return text, bytes (`Vec<u8>`, `&[u8]`), `Json<T>`, `ResourceContents`, `Vec<ResourceContents>`, `ReadResult`, or an `Option` (`None`: not found) or `Result` of these",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#return-types"
)]
pub trait IntoReadResult {
    /// Converts the value into contents. `uri` is the requested URI. An error fails the request, as an error
    /// of the handler does.
    fn into_read_result(self, uri: &str) -> Result<ReadResult>;
}

impl IntoReadResult for ReadResult {
    fn into_read_result(self, _: &str) -> Result<ReadResult> {
        Ok(self)
    }
}

impl IntoReadResult for ResourceContents {
    fn into_read_result(self, _: &str) -> Result<ReadResult> {
        Ok(ReadResult::new([self]))
    }
}

impl IntoReadResult for Vec<ResourceContents> {
    fn into_read_result(self, _: &str) -> Result<ReadResult> {
        Ok(ReadResult::new(self))
    }
}

impl<T: Serialize> IntoReadResult for Json<T> {
    fn into_read_result(self, uri: &str) -> Result<ReadResult> {
        let text = serde_json::to_string(&self.0)?;
        ResourceContents::text(text).with_mime("application/json").into_read_result(uri)
    }
}

impl<T: IntoReadResult> IntoReadResult for Option<T> {
    fn into_read_result(self, uri: &str) -> Result<ReadResult> {
        self.ok_or_else(|| Error::resource_not_found(uri))?.into_read_result(uri)
    }
}

impl<T: IntoReadResult, E: HandlerError> IntoReadResult for Result<T, E> {
    fn into_read_result(self, uri: &str) -> Result<ReadResult> {
        self.map_err(Into::into)?.into_read_result(uri)
    }
}

macro_rules! text_contents {
    ($($ty:ty)*) => {$(
        impl IntoReadResult for $ty {
            fn into_read_result(self, uri: &str) -> Result<ReadResult> {
                ResourceContents::text(self).into_read_result(uri)
            }
        }
    )*};
}

text_contents! { String &str &String Cow<'_, str> }

macro_rules! bytes_contents {
    ($($ty:ty)*) => {$(
        impl IntoReadResult for $ty {
            fn into_read_result(self, uri: &str) -> Result<ReadResult> {
                ResourceContents::blob(self).into_read_result(uri)
            }
        }
    )*};
}

bytes_contents! { Vec<u8> &[u8] &Vec<u8> Cow<'_, [u8]> }

/// Bytes of `include_bytes!`.
impl<const N: usize> IntoReadResult for &[u8; N] {
    fn into_read_result(self, uri: &str) -> Result<ReadResult> {
        ResourceContents::blob(self).into_read_result(uri)
    }
}
