//! The bar: what our framework has to reach, and whether a report reaches it.

use std::fmt;

use serde_json::{Value, json};

use crate::{
    report::{self, Report},
    subject::Subject,
    work::Tool,
};

/// A call to `add` may cost this many times the floor's instructions.
const OVER_THE_FLOOR: f64 = 2.5;

/// A call must not get dearer with the number of registered tools.
const MANY_OVER_FEW: f64 = 1.05;

/// How many other tools are few, and how many are many.
pub const OTHER_TOOLS: [usize; 2] = [1, 200];

pub struct Verdict {
    rule: String,
    measured: f64,
    limit: f64,
}

impl Verdict {
    fn met(&self) -> bool {
        self.measured <= self.limit
    }

    pub fn json(&self) -> Value {
        json!({ "rule": self.rule, "measured": self.measured, "limit": self.limit, "met": self.met() })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.met() { "met" } else { "MISSED" };
        write!(f, "bar {word}: {} is {:.3}, at most {:.2}", self.rule, self.measured, self.limit)
    }
}

/// A rule for each pair of figures that was measured.
pub fn judge(report: &Report) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let add = report::instructions(Tool::Add);
    let ours = report.figure(&add, Subject::Ours);
    if let (Some(ours), Some(floor)) = (ours, report.figure(&add, Subject::Floor)) {
        let rule = "instructions of add, ours / floor".to_owned();
        verdicts.push(Verdict { rule, measured: ours / floor, limit: OVER_THE_FLOOR });
    }
    let [few, many] = OTHER_TOOLS;
    let among = |others| report.figure(&report::instructions_among(others), Subject::Ours);
    if let (Some(with_few), Some(with_many)) = (among(few), among(many)) {
        let rule = format!("instructions of add, among {many} / among {few} other tools");
        verdicts.push(Verdict { rule, measured: with_many / with_few, limit: MANY_OVER_FEW });
    }
    verdicts
}

/// Nothing measured is not a bar met: both rules must have been judged.
pub fn all_met(verdicts: &[Verdict]) -> bool {
    verdicts.len() == 2 && verdicts.iter().all(Verdict::met)
}

#[cfg(test)]
mod tests {
    use super::{all_met, judge};
    use crate::{
        report::{self, Report},
        subject::Subject,
        work::Tool,
    };

    fn report(ours: f64, among_many: f64) -> Report {
        let mut report = Report::new(&Subject::ALL);
        report.add(report::instructions(Tool::Add), Subject::Floor, 100.0);
        report.add(report::instructions(Tool::Add), Subject::Ours, ours);
        report.add(report::instructions_among(1), Subject::Ours, 100.0);
        report.add(report::instructions_among(200), Subject::Ours, among_many);
        report
    }

    #[test]
    fn judges_both_rules() {
        assert!(all_met(&judge(&report(250.0, 105.0))));
        assert!(!all_met(&judge(&report(251.0, 100.0))));
        assert!(!all_met(&judge(&report(200.0, 106.0))));
        assert!(!all_met(&judge(&Report::new(&Subject::ALL))), "nothing measured is nothing met");
    }
}
