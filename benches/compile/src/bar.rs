//! The bar: what compiling may cost, and whether a report meets it.

use std::fmt;

use crate::generate::Framework;
use crate::report::{Figure, Metric, Report};

/// What of rmcp's CPU time each may take.
const OF_RMCP: [(Metric, Figure); 3] = [(Metric::Check, 0.30), (Metric::Build, 0.30), (Metric::Clean, 0.5)];

/// What ours may count, whatever others do.
const AT_MOST: [(Metric, Figure); 3] =
    [(Metric::Crates, 45.0), (Metric::Hello, 2_000_000.0), (Metric::Tool, TOOL_BYTES)];

/// Not a target, but a guard: what a tool adds to the binary is what has to be compiled for it.
const TOOL_BYTES: Figure = 7_000.0;

pub struct Verdict {
    rule: String,
    measured: Option<Figure>,
    limit: Figure,
}

impl Verdict {
    /// A figure that is missing does not meet the bar.
    pub fn met(&self) -> bool {
        self.measured.is_some_and(|measured| measured <= self.limit)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.met() { "met" } else { "MISSED" };
        let measured = self.measured.map_or_else(|| "not measured".to_owned(), |measured| format!("{measured:.2}"));
        write!(f, "bar {word}: {} is {measured}, at most {}", self.rule, self.limit)
    }
}

/// A verdict for each rule; `counts` leaves out those about times.
pub fn judge(report: &Report, counts: bool) -> Vec<Verdict> {
    let times = OF_RMCP.iter().filter(|_| !counts).map(|(metric, limit)| Verdict {
        rule: format!("{metric}, ours / rmcp"),
        measured: report.ratio(*metric),
        limit: *limit,
    });
    let counts = AT_MOST.iter().map(|(metric, limit)| Verdict {
        rule: metric.to_string(),
        measured: report.figure(*metric, Framework::Ours),
        limit: *limit,
    });
    times.chain(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_large_figures_miss_the_bar() {
        let mut report = Report::default();
        report.add(Metric::Crates, Framework::Ours, 45.0);
        report.add(Metric::Hello, Framework::Ours, 2_000_001.0);
        let met: Vec<bool> = judge(&report, true).iter().map(Verdict::met).collect();
        assert_eq!(met, [true, false, false]);
        assert_eq!(judge(&report, false).len(), 6);
    }
}
