//! Error codes of applications, beside those of JSON-RPC and MCP.

use std::fmt;

/// An application-defined error code, for [`Error::application`](crate::Error::application): any number
/// outside -32768 to -32000, the range reserved by JSON-RPC and MCP.
///
/// A constant is checked at compile time:
///
/// ```
/// use mcp_runtime::ErrorCode;
///
/// const QUOTA_EXCEEDED: ErrorCode = ErrorCode::new(1001);
/// ```
///
/// ```compile_fail,E0080
/// use mcp_runtime::ErrorCode;
///
/// const TAKEN: ErrorCode = ErrorCode::new(-32000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(i32);

impl ErrorCode {
    /// The code of this number.
    ///
    /// # Panics
    ///
    /// If the code is reserved. In a `const`, that is a compile error.
    #[track_caller]
    pub const fn new(code: i32) -> Self {
        match Self::try_new(code) {
            Some(code) => code,
            None => {
                panic!("error codes from -32768 to -32000 are reserved by JSON-RPC and MCP: use another, such as 1")
            }
        }
    }

    /// Creates a code; `None` if it is reserved.
    pub const fn try_new(code: i32) -> Option<Self> {
        // JSON-RPC 2.0 §5.1; <https://modelcontextprotocol.io/specification/2026-07-28/basic>
        if code < -32768 || code > -32000 { Some(ErrorCode(code)) } else { None }
    }

    /// The number, as clients get it.
    pub const fn get(self) -> i32 {
        self.0
    }
}

/// The codes that [`Error::application`](crate::Error::application) takes: an [`ErrorCode`], and every type that converts into one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error code",
    label = "expected an `ErrorCode`",
    note = "write `mcp_runtime::ErrorCode::new(…)`, best as a constant, which is checked at compile time: `const QUOTA: ErrorCode = ErrorCode::new(1001);`",
    note = "for an enum of your own, implement `From` of it for `mcp_runtime::ErrorCode`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#error-codes"
)]
pub trait IntoErrorCode {
    /// Converts the value into the code that clients get.
    fn into_code(self) -> ErrorCode;
}

#[diagnostic::do_not_recommend]
impl<T: Into<ErrorCode>> IntoErrorCode for T {
    fn into_code(self) -> ErrorCode {
        self.into()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_error_codes_are_rejected() {
        for taken in [-32768, -32700, -32603, -32600, -32099, -32022, -32002, -32000] {
            assert_eq!(ErrorCode::try_new(taken), None, "{taken}");
        }
        for free in [i32::MIN, -32769, -31999, -1, 0, 1, 404, i32::MAX] {
            assert_eq!(ErrorCode::try_new(free).map(ErrorCode::get), Some(free));
        }
    }

    #[test]
    fn codes_can_be_an_enum() {
        enum Code {
            Quota,
        }
        impl From<Code> for ErrorCode {
            fn from(Code::Quota: Code) -> Self {
                ErrorCode::new(1001)
            }
        }
        assert_eq!(crate::Error::application(Code::Quota, "none left").code(), Some(1001));
    }

    #[test]
    #[should_panic(expected = "use another")]
    fn reserved_error_code_panics_at_run_time() {
        let _ = ErrorCode::new(-32601);
    }
}
