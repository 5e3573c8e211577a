//! Trace context: whether what a client sent is what it should be. It is handed on, never trusted.
//! <https://www.w3.org/TR/trace-context/>

/// `version-trace-parent-flags`, in lower-case hexadecimal, none of it invalid.
pub(crate) fn is_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, rest @ ..] = &parts[..] else { return false };
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let some = |part: &str| part.bytes().any(|byte| byte != b'0');
    let known = hex(version, 2) && *version != "ff" && (*version != "00" || rest.is_empty());
    text.len() <= 256 && known && hex(trace, 32) && some(trace) && hex(parent, 16) && some(parent) && hex(flags, 2)
}

/// A list of `key=value`, no longer than `limit`.
pub(crate) fn is_list(text: &str, limit: usize) -> bool {
    text.len() <= limit
        && text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.split(',').all(|member| member.trim().is_empty() || member.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_valid_passes() {
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
        assert!(is_list("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", 512));
        assert!(!is_list("line\nbreak=1", 512) && !is_list("a=1", 2) && !is_list("nothing", 512));
    }
}
