//! Ends of lines: an edit that was made without carriage returns, put back into the text it was made of.

/// The text `edited`, which was made of `original` with `\n` only. Lines that the edit did not touch are taken from
/// `original`, byte for byte; new lines end as most lines do.
pub(super) fn restore(original: &str, edited: &str) -> String {
    if !original.contains('\r') {
        return edited.to_owned();
    }
    let before: Vec<&str> = original.split_inclusive('\n').collect();
    let after: Vec<&str> = edited.split_inclusive('\n').collect();
    let same = |(before, after): &(&&str, &&str)| {
        content(before) == content(after) && before.ends_with('\n') == after.ends_with('\n')
    };
    let head = before.iter().zip(&after).take_while(same).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(same).count();

    let windows = original.matches("\r\n").count() * 2 > original.matches('\n').count();
    let end = if windows { "\r\n" } else { "\n" };
    let mut text: String = before[..head].concat();
    for line in &after[head..after.len() - tail] {
        text.push_str(content(line));
        text.push_str(if line.ends_with('\n') { end } else { "" });
    }
    text + &before[before.len() - tail..].concat()
}

/// A line without its end.
fn content(line: &str) -> &str {
    line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::restore;

    #[test]
    fn untouched_lines_keep_their_ends() {
        assert_eq!(restore("a\r\nb\nc\r\n", "a\nb\nx\nc\n"), "a\r\nb\nx\r\nc\r\n");
        assert_eq!(restore("a\r\nb\r\n", "a\n"), "a\r\n");
        assert_eq!(restore("a\r\na\r\n", "a\na\na\n"), "a\r\na\r\na\r\n");
        assert_eq!(restore("a\r\nb", "a\nb\nc\n"), "a\r\nb\r\nc\r\n");
        assert_eq!(restore("a\nb\n", "b\n"), "b\n");
    }
}
