//! The nesting limit, checked before a message is parsed.

use super::raw::string_end;

/// Whether objects and lists of a frame are nested more than `limit` deep.
///
/// Two cheap upper bounds decide for most frames, so that an ordinary call pays next to nothing.
pub(crate) fn exceeds(frame: &[u8], limit: usize) -> bool {
    // Each level takes two bytes: a bracket that opens it and one that closes it.
    if frame.len() / 2 <= limit {
        return false;
    }
    // The depth if no bracket were closed, nor part of a string.
    if opening(frame) <= limit {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = frame.get(at) {
        match byte {
            b'{' | b'[' if depth == limit => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => match string_end(frame, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                // Invalid JSON: the parser rejects it.
                None => return false,
            },
            _ => {}
        }
        at += 1;
    }
    false
}

/// The number of opening brackets, in strings or not.
fn opening(frame: &[u8]) -> usize {
    // The two brackets differ in one bit. Sums of bytes are vectorized.
    let opens = |byte: &u8| u8::from(byte | 0x20 == b'{');
    frame.chunks(255).map(|chunk| usize::from(chunk.iter().map(opens).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn limit_is_inclusive() {
        for limit in [0, 1, 2, 128] {
            for around in ["", " ", "                 "] {
                let frame = |depth| format!("{around}{}{around}", nested(depth));
                assert!(!exceeds(frame(limit).as_bytes(), limit), "{limit}");
                assert!(exceeds(frame(limit + 1).as_bytes(), limit), "{limit}");
            }
        }
        let objects = format!("{}1{}", "{\"a\":".repeat(129), "}".repeat(129));
        assert!(exceeds(objects.as_bytes(), 128));
        assert!(!exceeds(objects.as_bytes(), 129));
        assert!(!exceeds(nested(1000).as_bytes(), usize::MAX));
    }

    #[test]
    fn all_opening_brackets_are_counted() {
        let every: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(opening(&every), 2, "these two and no others");
        assert_eq!(opening(&[b'['; 1000]), 1000);
    }

    #[test]
    fn siblings_do_not_add_depth() {
        assert!(!exceeds(format!("[{}]", vec!["[{}]"; 1000].join(",")).as_bytes(), 3));
        assert!(exceeds(format!("[{},[[[]]]]", vec!["[{}]"; 1000].join(",")).as_bytes(), 3));
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = r#"[[\\\"{"#.repeat(1000);
        assert!(!exceeds(format!(r#"{{"{text}":["{text}"]}}"#).as_bytes(), 2));
        assert!(exceeds(format!(r#"{{"{text}":["{text}",[]]}}"#).as_bytes(), 2));
    }

    #[test]
    fn invalid_json_does_not_panic() {
        for frame in ["]]]]]]]]]]]]", "\"\\", "[[[[\"\\", "[[[[\"abc", "}{}{}{}{}{}{}{"] {
            let _ = exceeds(frame.as_bytes(), 1);
        }
        assert!(!exceeds("]".repeat(1000).as_bytes(), 1));
    }
}
