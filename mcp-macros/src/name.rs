//! Names: validation, suggestions for typos, and case conversion.

/// Why `name` cannot be the name of a tool or prompt.
/// <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names>
pub(crate) fn problem(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() {
        return Some("is empty".to_owned());
    }
    if name.len() > 128 {
        return Some("is longer than 128 characters".to_owned());
    }
    let bad = name.chars().find(|c| !allowed(*c))?;
    Some(format!("contains `{bad}`; allowed are ASCII letters, digits, `_`, `-` and `.`"))
}

/// The candidate most similar to `word`, if one is similar enough to suggest.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let wanted = plain(word);
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let begins = |candidate: &&&str| {
        let candidate = plain(candidate);
        let (short, long) = if candidate.len() < wanted.len() { (&candidate, &wanted) } else { (&wanted, &candidate) };
        short.len() >= 4 && long.starts_with(&**short)
    };
    let differ = |candidate: &&&str| plain(candidate).len().abs_diff(wanted.len());
    if let Some(candidate) = candidates.iter().filter(begins).min_by_key(differ) {
        return Some(candidate);
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4 && *distance < word.len())
        .map(|(_, candidate)| candidate)
}

/// The Levenshtein distance: the number of letters to insert, remove or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// `SomeName` as `some_name`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (index, c) in name.char_indices() {
        if c.is_uppercase() && index > 0 {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_get_suggestions() {
        let keys = ["name", "title", "read_only", "destructive", "open_world"];
        assert_eq!(closest("readonly", keys), Some("read_only"));
        assert_eq!(closest("readOnly", keys), Some("read_only"));
        assert_eq!(closest("titel", keys), Some("title"));
        assert_eq!(closest("mimetype", ["mime"]), Some("mime"));
        assert_eq!(closest("sampling_tool", ["sampling", "sampling_tools"]), Some("sampling_tools"));
        assert_eq!(closest("colour", keys), None);
        assert_eq!(closest("x", keys), None);
    }

    #[test]
    fn snake_case_splits_at_capitals() {
        assert_eq!(snake_case("AppConfig"), "app_config");
        assert_eq!(snake_case("note"), "note");
    }
}
