//! How deep a message is nested, told before it is read.

use super::raw::string_end;

/// Whether a frame has more than `limit` objects and lists inside each other.
///
/// Most frames are told apart without looking at what they say, so that an ordinary call pays
/// next to nothing.
pub(crate) fn exceeds(frame: &[u8], limit: usize) -> bool {
    // What is opened has to be closed: a level takes two bytes.
    if frame.len() / 2 <= limit {
        return false;
    }
    // As if none of the brackets were closed, nor part of a text.
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
                // Not JSON, which is said elsewhere.
                None => return false,
            },
            _ => {}
        }
        at += 1;
    }
    false
}

/// How many opening brackets there are, wherever they stand.
fn opening(frame: &[u8]) -> usize {
    // The two differ in one bit. Summed in bytes, of which a processor adds many at a time.
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
    fn the_limit_is_the_deepest_there_may_be() {
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
    fn brackets_are_counted_all() {
        let every: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(opening(&every), 2, "these two and no others");
        assert_eq!(opening(&[b'['; 1000]), 1000);
    }

    #[test]
    fn side_by_side_is_not_deep() {
        assert!(!exceeds(format!("[{}]", vec!["[{}]"; 1000].join(",")).as_bytes(), 3));
        assert!(exceeds(format!("[{},[[[]]]]", vec!["[{}]"; 1000].join(",")).as_bytes(), 3));
    }

    #[test]
    fn brackets_in_texts_are_text() {
        let text = r#"[[\\\"{"#.repeat(1000);
        assert!(!exceeds(format!(r#"{{"{text}":["{text}"]}}"#).as_bytes(), 2));
        assert!(exceeds(format!(r#"{{"{text}":["{text}",[]]}}"#).as_bytes(), 2));
    }

    #[test]
    fn what_is_not_json_is_no_reason_to_panic() {
        for frame in ["]]]]]]]]]]]]", "\"\\", "[[[[\"\\", "[[[[\"abc", "}{}{}{}{}{}{}{"] {
            let _ = exceeds(frame.as_bytes(), 1);
        }
        assert!(!exceeds("]".repeat(1000).as_bytes(), 1));
    }
}
