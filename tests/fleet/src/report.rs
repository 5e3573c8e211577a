//! The table, and the misses that are known.

use crate::options::Options;
use crate::scenario::{Finding, Findings, Row};

/// What is known to miss, each with its reason.
const KNOWN: &str = include_str!("../known.txt");

#[derive(Debug, Default)]
pub(crate) struct Report {
    missed: usize,
    known: usize,
    footnotes: Vec<String>,
}

impl Report {
    pub(crate) fn head(options: &Options) {
        println!("{} replicas of {}, one Redis.\n", options.replicas, options.everything.display());
        println!(
            "| scenario                | clients    | calls | answered | retryable | broken | lost | sessions | gone | longest ms | verdict"
        );
        println!(
            "|-------------------------|------------|------:|---------:|----------:|-------:|-----:|---------:|-----:|-----------:|--------"
        );
    }

    /// Prints what a scenario has found. If it has a miss that is not known and is tried `again`, that does not count: true.
    pub(crate) fn add(&mut self, findings: &Findings, again: bool) -> bool {
        let again =
            again && findings.items.iter().any(|item| !item.misses.is_empty() && known(KNOWN, &item.name).is_none());
        for Row { name, clients, figures } in &findings.rows {
            let item = findings.items.iter().find(|item| item.name == *name);
            let verdict = item.map_or_else(String::new, |item| self.verdict(item, again));
            println!(
                "| {name:<23} | {clients:<10} | {:>5} | {:>8} | {:>9} | {:>6} | {:>4} | {:>8} | {:>4} | {:>10} | {verdict}",
                figures.calls,
                figures.answered,
                figures.retryable,
                figures.broken,
                figures.lost,
                figures.sessions,
                figures.sessions_lost,
                figures.longest.as_millis(),
            );
        }
        if findings.rows.is_empty() {
            for item in &findings.items {
                let verdict = self.verdict(item, again);
                println!("| {:<36} | {:>77} | {verdict}", item.name, "");
            }
        }
        self.footnotes.extend(findings.notes.iter().cloned());
        for item in findings.items.iter().filter(|item| !again && !item.misses.is_empty()) {
            match known(KNOWN, &item.name) {
                Some(why) => {
                    self.known += 1;
                    self.footnotes.push(format!("{}: known to miss: {why}", item.name));
                }
                None => self.missed += 1,
            }
        }
        again
    }

    fn verdict(&mut self, item: &Finding, again: bool) -> String {
        match (item.misses.is_empty(), known(KNOWN, &item.name)) {
            (true, None) => "ok".to_owned(),
            (true, Some(_)) => {
                let note = format!("{}: listed in known.txt, but holds here; remove it if it always does", item.name);
                if !self.footnotes.contains(&note) {
                    self.footnotes.push(note);
                }
                "ok (listed as known)".to_owned()
            }
            (false, None) if again => format!("missed: {}; once more", item.misses.join("; ")),
            (false, None) => format!("MISSED: {}", item.misses.join("; ")),
            (false, Some(_)) => format!("missed, known: {}", item.misses.join("; ")),
        }
    }

    pub(crate) fn foot(&self) {
        println!();
        for footnote in &self.footnotes {
            println!("{footnote}");
        }
        println!("\nMissed: {}, and {} that are known.", self.missed, self.known);
    }

    /// Known misses count, unless they are excepted: they are told from new ones, not hidden.
    pub(crate) fn failed(&self, except_known: bool) -> bool {
        self.missed > 0 || (self.known > 0 && !except_known)
    }
}

/// The reason in a list of lines like `name: reason`.
fn known<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).find_map(|(listed, why)| (listed == name).then_some(why))
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, Report, known};
    use crate::scenario::features::FEATURES;
    use crate::scenario::{Finding, Findings, SCENARIOS};

    #[test]
    fn known_misses_have_a_name_and_a_reason() {
        let list = "# a comment: no\nkill: one\nfeatures/cancel: two: three\n";
        assert_eq!(known(list, "kill"), Some("one"));
        assert_eq!(known(list, "features/cancel"), Some("two: three"));
        assert_eq!(known(list, "# a comment"), None);
        for line in KNOWN.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (name, _) = line.split_once(": ").expect("a reason");
            let feature = name.strip_prefix("features/");
            let is_feature = feature.is_some_and(|name| FEATURES.iter().any(|(feature, _)| *feature == name));
            let scenario = name.split('/').next().unwrap_or(name);
            assert!(is_feature || SCENARIOS.contains(&scenario), "known.txt: {line}");
        }
    }

    #[test]
    fn miss_fails_unless_it_is_tried_again() {
        let missed = Finding { name: "rolling".to_owned(), misses: vec!["1 calls lost".to_owned()] };
        let findings = Findings { items: vec![missed], ..Findings::default() };
        let mut report = Report::default();
        assert!(report.add(&findings, true) && !report.failed(false));
        assert!(!report.add(&findings, false) && report.failed(true));
        let held = Finding { name: "rolling".to_owned(), misses: Vec::new() };
        let mut report = Report::default();
        assert!(!report.add(&Findings { items: vec![held], ..Findings::default() }, true));
        assert!(!report.failed(false));
    }
}
