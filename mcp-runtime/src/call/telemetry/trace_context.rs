//! Validation of the trace context that clients send. Handlers pass it on, so it must be well-formed.
//! <https://www.w3.org/TR/trace-context/>

/// The length of a `traceparent` of version 00. Later versions may append to it.
const PARENT_BYTES: usize = 55;

/// Whether a text is a `traceparent`: `version-trace-parent-flags`, in lower-case hexadecimal, with a valid version
/// and ids that are not zero.
pub(crate) fn is_parent(text: &str) -> bool {
    // The length first: a client may send megabytes.
    if text.len() < PARENT_BYTES || text.len() > 256 || text.starts_with("00") && text.len() != PARENT_BYTES {
        return false;
    }
    let mut parts = text.split('-');
    let (Some(version), Some(trace), Some(parent), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_nonzero = |part: &str| part.bytes().any(|byte| byte != b'0');
    hex(version, 2)
        && version != "ff"
        && hex(trace, 32)
        && is_nonzero(trace)
        && hex(parent, 16)
        && is_nonzero(parent)
        && hex(flags, 2)
}

/// Whether a text is a list of `key=value`, at most `limit` bytes long: a `tracestate` or `baggage`.
pub(crate) fn is_list(text: &str, limit: usize) -> bool {
    text.len() <= limit
        && text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.split(',').all(|member| member.trim().is_empty() || member.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_trace_context_is_rejected() {
        assert!(is_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        ] {
            assert!(!is_parent(bad), "{bad}");
        }
        let parent = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(is_parent(&format!("01{parent}-more")), "a later version may append");
        assert!(!is_parent(&format!("01{parent}more")));
        assert!(!is_parent(&"-".repeat(4 << 20)) && !is_parent(&format!("01{parent}-{}", "x-".repeat(2 << 20))));
        assert!(is_list("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", 512));
        assert!(!is_list("line\nbreak=1", 512) && !is_list("a=1", 2) && !is_list("nothing", 512));
    }
}
