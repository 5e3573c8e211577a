//! The table, the bars, and the misses that are known.

use std::time::Duration;

use crate::figures::Figures;
use crate::measure::{Measured, Outcome};
use crate::options::{Options, Subject};
use crate::scenario::Scenario;

/// The share of failed calls that is too high.
const ERRORS: f64 = 0.01;

/// How much slower the slowest hundredth of calls may get.
const RATIO: f64 = 10.0;

/// A p99 below this is good, however fast the baseline was: a scheduler's hiccup is no attack.
const FLOOR: Duration = Duration::from_millis(50);

/// A client this late says more about the machine than about the server.
const LATE: Duration = Duration::from_millis(20);

/// MiB.
const PEAK: f64 = 256.0;

/// Scenarios known to miss a bar, each with its reason.
const KNOWN: &str = include_str!("../known.txt");

#[derive(Debug)]
pub(crate) struct Report {
    same_address: bool,
    /// Whether `known.txt` is about this server.
    ours: bool,
    missed: usize,
    footnotes: Vec<String>,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        let ours = matches!(options.subject, Subject::Ours);
        Report { same_address: options.same_address, ours, missed: 0, footnotes: Vec::new() }
    }

    pub(crate) fn head(&self) {
        let from = if self.same_address { "the good client's address" } else { "other addresses" };
        println!("Attackers come from {from}.");
        if cfg!(debug_assertions) {
            println!("The build is not optimized: less memory is filled, and more time taken, than with `--release`.");
        }
        println!();
        println!("| row | scenario          | errors % |  p99 ms | baseline |  ratio | peak MiB |  CPU s | verdict");
        println!("|----:|-------------------|---------:|--------:|---------:|-------:|---------:|-------:|--------");
    }

    /// Prints a row, and tells whether a bar was missed. If the scenario is tried `again` then, it does not count.
    pub(crate) fn add(&mut self, scenario: &Scenario, outcome: Outcome, again: bool) -> bool {
        let (row, name) = (scenario.row, scenario.name);
        let measured = match outcome {
            Outcome::Measured(measured) => measured,
            Outcome::Skipped(why) => {
                println!(
                    "| {row:>3} | {name:<17} |        – |       – |        – |      – |        – |      – | – ({why})"
                );
                return false;
            }
        };
        let misses = misses(&measured);
        let known = self.known(name);
        let weak =
            measured.weak.map_or(String::new(), |sent| format!(" (weak attack: {sent} of {} sent)", scenario.least));
        let verdict = match (misses.is_empty(), known) {
            (true, None) => "ok".to_owned(),
            (true, Some(_)) => {
                self.footnotes
                    .push(format!("{name}: listed in known.txt, but passes here; remove it if it always does"));
                "ok (listed as known)".to_owned()
            }
            (false, _) if again => format!("missed: {}; once more", misses.join(", ")),
            (false, None) => format!("MISSED: {}", misses.join(", ")),
            (false, Some(why)) => {
                self.footnotes.push(format!("{name}: known to miss: {why}"));
                format!("missed, known: {}", misses.join(", "))
            }
        };
        self.missed += usize::from(!misses.is_empty() && !again);
        if let Some((duty, error)) = &measured.figures.error {
            self.footnotes.push(format!("{name}: first error of {duty:?}: {error}"));
        }
        self.footnotes.push(format!("{name}: {}", measured.note));
        let Measured { figures: Figures { errors, p99, baseline, late, .. }, peak, cpu, .. } = measured;
        if late.is_some_and(|late| late >= LATE) {
            let late = late.map_or(0.0, milliseconds);
            self.footnotes.push(format!("{name}: the machine was busy: the client was woken up to {late:.0} ms late"));
        }
        println!(
            "| {row:>3} | {name:<17} | {:>8} | {:>7} | {:>8} | {:>6} | {:>8} | {:>6} | {verdict}{weak}",
            format!("{:.1}", errors * 100.0),
            or_dash(p99.map(milliseconds)),
            or_dash(baseline.map(milliseconds)),
            or_dash(ratio(p99, baseline)),
            or_dash(peak),
            or_dash(cpu),
        );
        !misses.is_empty()
    }

    pub(crate) fn foot(&self) {
        println!();
        for footnote in &self.footnotes {
            println!("{footnote}");
        }
        println!(
            "\nBars: errors < {} %; p99 < {RATIO} times the baseline, or < {} ms; peak <= {PEAK} MiB. Missed by {}.",
            ERRORS * 100.0,
            FLOOR.as_millis(),
            self.missed
        );
    }

    /// Known misses count: they are told from new ones, not hidden.
    pub(crate) fn missed(&self) -> bool {
        self.missed > 0
    }

    fn known(&self, name: &str) -> Option<&'static str> {
        known(KNOWN, name, self.same_address).filter(|_| self.ours)
    }
}

/// The reason in a list of lines like `name: reason` and `name --same-address: reason`.
fn known<'a>(list: &'a str, name: &str, same_address: bool) -> Option<&'a str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).find_map(|(key, why)| {
        let (listed, only_same) = key.strip_suffix(" --same-address").map_or((key, false), |listed| (listed, true));
        (listed == name && (same_address || !only_same)).then_some(why)
    })
}

fn misses(measured: &Measured) -> Vec<String> {
    let mut misses = measured.faults.clone();
    if measured.figures.errors >= ERRORS {
        misses.push("errors".to_owned());
    }
    let slow = measured.figures.p99.is_some_and(|p99| p99 >= FLOOR);
    if slow && ratio(measured.figures.p99, measured.figures.baseline).is_none_or(|ratio| ratio >= RATIO) {
        misses.push("p99".to_owned());
    }
    if measured.peak.is_some_and(|peak| peak > PEAK) {
        misses.push("memory".to_owned());
    }
    misses
}

fn ratio(p99: Option<Duration>, baseline: Option<Duration>) -> Option<f64> {
    Some(p99?.as_secs_f64() / baseline?.as_secs_f64())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{KNOWN, known, misses};
    use crate::figures::Figures;
    use crate::measure::Measured;
    use crate::scenario::SCENARIOS;

    fn measured(errors: f64, p99: u64, baseline: u64, peak: f64) -> Measured {
        let [p99, baseline] = [p99, baseline].map(|ms| Some(Duration::from_millis(ms)));
        let figures = Figures { errors, error: None, p99, baseline, late: None };
        Measured { figures, peak: Some(peak), cpu: None, faults: Vec::new(), weak: None, note: String::new() }
    }

    #[test]
    fn bars_are_those_of_the_readme() {
        assert!(misses(&measured(0.009, 49, 1, 256.0)).is_empty());
        assert!(misses(&measured(0.0, 90, 10, 1.0)).is_empty());
        assert_eq!(misses(&measured(0.01, 100, 10, 256.1)), ["errors", "p99", "memory"]);
        let mut nothing_came = measured(1.0, 1, 1, 1.0);
        nothing_came.figures.p99 = None;
        assert_eq!(misses(&nothing_came), ["errors"]);
    }

    #[test]
    fn known_misses_may_be_of_one_address_only() {
        let list = "# a comment: no\nblocking: one\ntasks --same-address: two\n";
        assert_eq!(known(list, "blocking", false), Some("one"));
        assert_eq!(known(list, "tasks", true), Some("two"));
        assert_eq!(known(list, "tasks", false), None);
        assert_eq!(known(list, "# a comment", false), None);
    }

    #[test]
    fn known_misses_are_scenarios() {
        for line in KNOWN.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let name = line.split([':', ' ']).next().unwrap();
            assert!(SCENARIOS.iter().any(|scenario| scenario.name == name), "known.txt: {line}");
        }
    }
}
