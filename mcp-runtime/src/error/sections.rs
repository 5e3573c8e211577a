//! The sections of the page [`errors`](crate::errors) about mistakes in the set-up of a server.

/// The section about all mistakes.
const SET_UP: &str = "set-up";

/// The section about these mistakes: their own if they share one, else that about all.
#[cold]
pub(crate) fn about<'a>(mistakes: impl Iterator<Item = &'a str>) -> &'static str {
    let mut sections = mistakes.map(about_one);
    let first = sections.next().unwrap_or(SET_UP);
    if sections.all(|section| section == first) { first } else { SET_UP }
}

/// The section that quotes a mistake. By its words: it is a text by the time it is listed, whoever has found it.
fn about_one(mistake: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|words| mistake.contains(words));
    if has(&["there are two ", " match the same URIs"]) {
        "two-of-one-name"
    } else if has(&[" must have 1 to 128 ", "; allowed are ASCII ", " reserved by the protocol; ", "with a domain"]) {
        "a-name-that-is-not-allowed"
    } else if has(&[" arrives as text, "]) {
        "arguments-that-text-cannot-carry"
    } else if has(&["the pattern ", " cannot be checked; ", "`$ref` leads ", " does not match: ", "no number is at "]) {
        "a-schema-that-cannot-be-checked"
    } else {
        SET_UP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages about the start that have a link of their own.
    const OTHERS: [&str; 2] = ["authorization-that-cannot-work", "no-socket-from-systemd"];

    #[test]
    fn quoted_mistakes_lead_to_their_sections() {
        let (_, page) = include_str!("../../docs/errors.md").split_once("\n## Set-up\n").unwrap();
        let mut quoted = 0;
        for section in page.split("\n## ").next().unwrap().split("\n### ").skip(1) {
            let (heading, text) = section.split_once('\n').unwrap();
            let anchor = heading.to_lowercase().replace(' ', "-");
            if OTHERS.contains(&&*anchor) {
                continue;
            }
            let (_, block) = text.split_once("```text\n").unwrap();
            for message in block.split("\n```").next().unwrap().lines() {
                assert_eq!(about_one(message), anchor, "{message}");
                quoted += 1;
            }
        }
        assert!(quoted > 8, "{quoted}");
    }

    #[test]
    fn mistakes_of_several_sections_lead_to_all() {
        let (double, name) = ("there are two tools `a`; rename one", "`a/b`: prefix the name with a domain you own");
        assert_eq!(about([double, double].into_iter()), "two-of-one-name");
        assert_eq!(about([double, name].into_iter()), SET_UP);
        assert_eq!(about(["`page_size` must be at least 1"].into_iter()), SET_UP);
    }
}
