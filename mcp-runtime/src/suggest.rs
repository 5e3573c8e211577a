//! Suggestions for unknown names: "Did you mean …?".

use serde_json::json;

use crate::jsonrpc::error::RpcError;
use crate::sort;

impl RpcError {
    /// Adds the candidate closest to `word` as a suggestion, if it is close enough to be a typo.
    pub(crate) fn suggest<'a>(self, word: &str, mut candidates: impl Iterator<Item = &'a str>) -> Self {
        self.suggest_any(word, &mut candidates)
    }

    fn suggest_any(self, word: &str, candidates: &mut dyn Iterator<Item = &str>) -> Self {
        match closest_of(word, candidates) {
            Some(meant) => self.with_data(json!({"details": format!("Did you mean '{meant}'?"), "suggestion": meant})),
            None => self,
        }
    }
}

/// Longer names get no suggestion: comparison is quadratic in their length.
const LONGEST: usize = 128;

/// The candidate closest to `word`, if it is close enough to be a typo.
pub(crate) fn closest<'a>(word: &str, mut candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest_of(word, &mut candidates)
}

/// Not generic, so that it is compiled once.
fn closest_of<'a>(word: &str, candidates: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.replace(['_', '-', '.'], "").to_lowercase();
    let wanted = [plain(word), sorted(word)];
    let (distance, candidate) = candidates
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| {
            let [in_order, by_word] = &wanted;
            let distance = distance(in_order, &plain(candidate)).min(distance(by_word, &sorted(candidate)));
            (distance, candidate)
        })
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + candidate.len() / 5 && distance < word.len()).then_some(candidate)
}

/// The words of a name in alphabetical order, so that `listResources` matches `resources/list`.
fn sorted(name: &str) -> String {
    let mut spaced = String::new();
    for letter in name.chars() {
        if !letter.is_lowercase() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()));
    }
    let words: Vec<&str> = spaced.split(' ').collect();
    sort::by_text(&words, |word| word).concat()
}

/// The words of a name in lower case: of `getHTTPStatus2`, `get`, `http` and `status2`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let in_word = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        let in_acronym = before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase());
        if !letter.is_alphanumeric() || (letter.is_uppercase() && (in_word || in_acronym)) {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The Levenshtein distance: how many letters to insert, remove or change.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut costs: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut before = std::mem::replace(&mut costs[0], row + 1);
        for column in 0..to.len() {
            let keep_or_change = before + usize::from(letter != to[column]);
            before = costs[column + 1];
            costs[column + 1] = keep_or_change.min(before + 1).min(costs[column] + 1);
        }
    }
    costs[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_name_is_found_despite_typos_and_word_order() {
        let names = ["tools/list", "tools/call", "get_weather"];
        assert_eq!(closest("tool/list", names.into_iter()), Some("tools/list"));
        assert_eq!(closest("getWeather", names.into_iter()), Some("get_weather"));
        assert_eq!(closest("listTools", names.into_iter()), Some("tools/list"));
        assert_eq!(closest("call_tool", names.into_iter()), Some("tools/call"));
        assert_eq!(closest("weather.get", names.into_iter()), Some("get_weather"));
        assert_eq!(closest("textDocument/hover", names.into_iter()), None);
        assert_eq!(closest("", names.into_iter()), None);
        assert_eq!(closest(&"x".repeat(1_000_000), names.into_iter()), None);
    }

    #[test]
    fn words_are_split_at_separators_and_capitals() {
        for name in ["get_http_status", "getHttpStatus", "GetHTTPStatus", "get-http.status", "GET_HTTP_STATUS"] {
            assert_eq!(words(name), ["get", "http", "status"], "{name}");
        }
        assert_eq!(words("arg1"), ["arg1"]);
        assert_eq!(words("_"), [""; 0]);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("ab", "ab"), 0);
    }
}
