//! The codes of an application's own errors.

use std::fmt;

/// A code of your own, for [`Error::application`](crate::Error::application): every number but -32768
/// to -32000, which JSON-RPC and MCP keep for themselves.
///
/// A constant is checked when it is compiled:
///
/// ```
/// use mcp_runtime::AppCode;
///
/// const QUOTA_EXCEEDED: AppCode = AppCode::new(1001);
/// ```
///
/// ```compile_fail,E0080
/// use mcp_runtime::AppCode;
///
/// const TAKEN: AppCode = AppCode::new(-32000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppCode(i32);

impl AppCode {
    /// The code, which panics if it is not an application's to use: in a `const`, an error of the
    /// compiler.
    #[track_caller]
    pub const fn new(code: i32) -> Self {
        match Self::try_new(code) {
            Some(code) => code,
            None => panic!("error codes from -32768 to -32000 belong to JSON-RPC and MCP: take one above, such as 1"),
        }
    }

    /// The code, if it is an application's to use.
    pub const fn try_new(code: i32) -> Option<Self> {
        // JSON-RPC 2.0 §5.1; <https://modelcontextprotocol.io/specification/2026-07-28/basic>
        if code < -32768 || code > -32000 { Some(AppCode(code)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for AppCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocols_codes_are_refused() {
        for taken in [-32768, -32700, -32603, -32600, -32099, -32022, -32002, -32000] {
            assert_eq!(AppCode::try_new(taken), None, "{taken}");
        }
        for free in [i32::MIN, -32769, -31999, -1, 0, 1, 404, i32::MAX] {
            assert_eq!(AppCode::try_new(free).map(AppCode::get), Some(free));
        }
    }

    #[test]
    #[should_panic(expected = "take one above")]
    fn at_run_time_they_are_a_panic() {
        let _ = AppCode::new(-32601);
    }
}
