//! The texts in JSON text: edited where they are, while everything else stays as it was written.
//!
//! Not parsed into values: a result may be nested deeper than a parser goes, and have numbers that no value holds.

/// Replaces a text where a function has another one.
pub(super) type Edit<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

/// Edits the strings and the numbers of JSON text, but not the names of members. Returns the new text, if there is one.
///
/// # Errors
///
/// If a string cannot be read. Then nothing of the text may be sent.
pub(super) fn edited(json: &str, edit: Edit<'_>) -> Result<Option<String>, serde_json::Error> {
    let (mut new, mut copied) = (String::new(), 0);
    let mut at = 0;
    while let Some(&first) = json.as_bytes().get(at) {
        let end = match first {
            b'"' => end_of_string(json, at),
            b'-' | b'0'..=b'9' => end_of_number(json, at),
            _ => {
                at += 1;
                continue;
            }
        };
        let token = &json[at..end];
        let replaced = match first {
            b'"' if is_name(json, end) => None,
            b'"' => edit(&serde_json::from_str::<String>(token)?),
            // What stays the same stays a number.
            _ => edit(token).filter(|edited| edited != token),
        };
        if let Some(text) = replaced {
            new.push_str(&json[copied..at]);
            new.push_str(&serde_json::to_string(&text)?);
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Ok(None);
    }
    new.push_str(&json[copied..]);
    Ok(Some(new))
}

/// Where the string that begins at `at` ends, behind its quotation mark.
fn end_of_string(json: &str, at: usize) -> usize {
    let mut escaped = false;
    let last = json.bytes().skip(at + 1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    last.map_or(json.len(), |length| at + length + 2)
}

fn end_of_number(json: &str, at: usize) -> usize {
    let rest = &json.as_bytes()[at..];
    let length = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
    at + length.unwrap_or(rest.len())
}

/// Whether the string that ends here is the name of a member.
fn is_name(json: &str, end: usize) -> bool {
    json[end..].trim_start().starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::edited;

    fn hidden(json: &str) -> Option<String> {
        let mut edit = |text: &str| text.contains('7').then(|| text.replace('7', "x"));
        edited(json, &mut edit).expect("readable")
    }

    #[test]
    fn strings_and_numbers_are_edited_and_the_rest_is_kept() {
        assert_eq!(hidden(r#"{"7":[1,true,null,"a\\\"b","é"]}"#), None);
        let json = r#"{"7" : -7.5e3, "a":["7", 99999999999999999999, 1.0, "\u0037\"\\"], "b":17}"#;
        let edited = r#"{"7" : "-x.5e3", "a":["x", 99999999999999999999, 1.0, "x\"\\"], "b":"1x"}"#;
        assert_eq!(hidden(json).as_deref(), Some(edited));
        assert_eq!((hidden("7").as_deref(), hidden(r#""7""#).as_deref()), (Some(r#""x""#), Some(r#""x""#)));
    }

    #[test]
    fn depth_does_not_matter() {
        let json = |text: &str| format!("{}\"{text}\"{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(hidden(&json("7")), Some(json("x")));
    }

    #[test]
    fn number_that_stays_the_same_stays_a_number() {
        let same = edited("[1,2]", &mut |text| Some(text.to_uppercase())).unwrap();
        assert_eq!(same, None);
    }

    #[test]
    fn text_that_is_not_unicode_is_an_error() {
        assert!(edited(r#"["\ud800"]"#, &mut |_| None).is_err());
    }
}
