//! The bar: the targets of our framework, and whether a report meets them.

use std::fmt;

use serde_json::{Value, json};

use crate::{
    http::{CACHED_JWT, Era, KNOWN_TOKENS, NEW_JWT},
    options::Options,
    report::{self, Report},
    subject::Subject,
    work::Tool,
};

/// A call to `add` may cost this many times the floor's instructions.
const OVER_THE_FLOOR: f64 = 2.5;

/// A call must not get more expensive with the number of registered tools.
const MANY_OVER_FEW: f64 = 1.05;

/// What operators need, as modes of the server `operated`: nothing, all of it on another tool, and one of each on this one.
pub const OPERATED: [&str; 5] = ["nothing", "elsewhere", "layer", "rate", "observer"];

/// A call to a tool without layers and limits must not pay for those of others, but for what counting is off by.
const ELSEWHERE: f64 = 1.01;

/// A call may cost this many times as much with an observer that counts.
const OBSERVED: f64 = 1.15;

/// Over HTTP, a call to `add` may cost this many times what it costs bare hyper.
const OVER_HYPER: f64 = 1.5;

/// With all connections busy, the slowest calls must be done in this part of the time rmcp's take at its best.
const OF_RMCP: f64 = 1.0 / 1.5;

/// An idle session may occupy this many bytes.
const SESSION: f64 = 2048.0;

/// A call by a caller with a token that is known may cost this many times the same call without authorization.
const WITH_A_TOKEN: f64 = 1.10;

/// The part of the cost of a token that is not known yet which may be something else than its signature.
const BESIDE_THE_SIGNATURE: f64 = 0.5;

/// The number of rules for stdio, and for HTTP.
const RULES: [usize; 2] = [4, 12];

/// The number of rules about counts, likewise.
const RULES_FOR_COUNTS: [usize; 2] = [4, 8];

/// The numbers of other tools that count as few and as many.
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

/// A rule for each pair of measured figures.
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
    let operated = |mode| report.figure(&report::instructions_operated(mode), Subject::Ours);
    for (mode, limit) in [("elsewhere", ELSEWHERE), ("observer", OBSERVED)] {
        if let (Some(with), Some(without)) = (operated(mode), operated("nothing")) {
            let rule = format!("instructions of add, {mode} / nothing");
            verdicts.push(Verdict { rule, measured: with / without, limit });
        }
    }
    for era in Era::ALL {
        judge_http(era, report, &mut verdicts);
        judge_known_tokens(era, report, &mut verdicts);
    }
    verdicts.extend(judge_new_tokens(report));
    if let Some(measured) = report.figure(report::SESSION_MEMORY, Subject::Ours) {
        verdicts.push(Verdict { rule: report::SESSION_MEMORY.to_owned(), measured, limit: SESSION });
    }
    verdicts
}

fn judge_http(era: Era, report: &Report, verdicts: &mut Vec<Verdict>) {
    for metric in [report::http_instructions(era), report::http_parallel(era)] {
        let figure = |subject| report.figure(&metric, subject);
        if let (Some(ours), Some(floor)) = (figure(Subject::Ours), figure(Subject::Floor)) {
            let rule = format!("{metric}, ours / floor");
            verdicts.push(Verdict { rule, measured: ours / floor, limit: OVER_HYPER });
        }
    }
    let metric = report::http_latency(era, 99);
    let figure = |subject| report.figure(&metric, subject);
    if let (Some(ours), Some(plain), Some(tuned)) =
        (figure(Subject::Ours), figure(Subject::Rmcp), figure(Subject::RmcpTuned))
    {
        let rule = format!("{metric}, ours / the faster rmcp");
        verdicts.push(Verdict { rule, measured: ours / plain.min(tuned), limit: OF_RMCP });
    }
}

fn judge_known_tokens(era: Era, report: &Report, verdicts: &mut Vec<Verdict>) {
    let open = report.figure(&report::http_instructions(era), Subject::Ours);
    for kind in KNOWN_TOKENS {
        let metric = report::http_authorized(era, kind);
        if let (Some(with), Some(without)) = (report.figure(&metric, Subject::Ours), open) {
            let rule = format!("{metric}, with / without authorization");
            verdicts.push(Verdict { rule, measured: with / without, limit: WITH_A_TOKEN });
        }
    }
}

fn judge_new_tokens(report: &Report) -> Option<Verdict> {
    let figure = |kind| report.figure(&report::http_authorized(Era::Modern, kind), Subject::Ours);
    let (new, cached) = (figure(NEW_JWT)?, figure(CACHED_JWT)?);
    let signature = report.figure(report::SIGNATURE, Subject::Ours)?;
    let rule = "part of an uncached JWT's instructions that is not its signature".to_owned();
    Some(Verdict { rule, measured: 1.0 - signature / (new - cached), limit: BESIDE_THE_SIGNATURE })
}

/// Every rule must have been checked: a missing measurement does not meet the bar.
pub fn all_met(verdicts: &[Verdict], options: &Options) -> bool {
    let [stdio, http] = if options.counts { RULES_FOR_COUNTS } else { RULES };
    let rules = usize::from(options.stdio) * stdio + usize::from(options.http) * http;
    verdicts.len() == rules && verdicts.iter().all(Verdict::met)
}

#[cfg(test)]
mod tests {
    use super::{all_met, judge};
    use crate::{
        http::{CACHED_JWT, Era, KNOWN_TOKENS, NEW_JWT},
        options::{Options, Wish},
        report::{self, Report},
        subject::Subject,
        work::Tool,
    };

    fn options(flags: &str) -> Options {
        match Options::parse(flags.split(' ').map(str::to_owned)) {
            Ok(Wish::Measure(options)) => options,
            _ => panic!("{flags} are flags"),
        }
    }

    fn stdio(ours: f64, among_many: f64) -> Report {
        let mut report = Report::new(&Subject::ALL);
        report.add(report::instructions(Tool::Add), Subject::Floor, 100.0);
        report.add(report::instructions(Tool::Add), Subject::Ours, ours);
        report.add(report::instructions_among(1), Subject::Ours, 100.0);
        report.add(report::instructions_among(200), Subject::Ours, among_many);
        operated(&mut report, 1010.0, 1150.0);
        report
    }

    fn operated(report: &mut Report, elsewhere: f64, observer: f64) {
        for (mode, figure) in [("nothing", 1000.0), ("elsewhere", elsewhere), ("observer", observer)] {
            report.add(report::instructions_operated(mode), Subject::Ours, figure);
        }
    }

    fn http(ours: f64, latency: f64, session: f64) -> Report {
        let mut report = Report::new(&Subject::ALL);
        for era in Era::ALL {
            for metric in [report::http_instructions(era), report::http_parallel(era)] {
                report.add(metric.clone(), Subject::Floor, 100.0);
                report.add(metric, Subject::Ours, ours);
            }
            let figures = [(Subject::Ours, latency), (Subject::Rmcp, 400.0), (Subject::RmcpTuned, 300.0)];
            for (subject, figure) in figures {
                report.add(report::http_latency(era, 99), subject, figure);
            }
        }
        report.add(report::SESSION_MEMORY, Subject::Ours, session);
        tokens(&mut report, ours * 1.1, 50.0);
        report
    }

    /// A call with a known token, and the signature of a new one, which costs 100 more.
    fn tokens(report: &mut Report, known: f64, signature: f64) {
        for era in Era::ALL {
            for kind in KNOWN_TOKENS {
                report.add(report::http_authorized(era, kind), Subject::Ours, known);
            }
        }
        let cached = report.figure(&report::http_authorized(Era::Modern, CACHED_JWT), Subject::Ours).unwrap();
        report.add(report::http_authorized(Era::Modern, NEW_JWT), Subject::Ours, cached + 100.0);
        report.add(report::SIGNATURE, Subject::Ours, signature);
    }

    #[test]
    fn judges_every_rule() {
        let met = |report: &Report| all_met(&judge(report), &options("--stdio"));
        assert!(met(&stdio(250.0, 105.0)));
        assert!(!met(&stdio(251.0, 100.0)));
        assert!(!met(&stdio(200.0, 106.0)));
        for (elsewhere, observer) in [(1011.0, 1150.0), (1010.0, 1151.0)] {
            let mut report = stdio(250.0, 105.0);
            operated(&mut report, elsewhere, observer);
            assert!(!met(&report), "{elsewhere}, {observer}");
        }
        assert!(!met(&Report::new(&Subject::ALL)), "nothing measured is nothing met");
    }

    #[test]
    fn judges_every_count() {
        let met = |report: &Report| all_met(&judge(report), &options("--counts --http --check --only floor,ours"));
        let mut report = Report::new(&[Subject::Floor, Subject::Ours]);
        report.add(report::SESSION_MEMORY, Subject::Ours, 2048.0);
        assert!(!met(&report), "no instructions");
        for era in Era::ALL {
            report.add(report::http_instructions(era), Subject::Floor, 100.0);
            report.add(report::http_instructions(era), Subject::Ours, 150.0);
        }
        assert!(!met(&report), "no tokens");
        tokens(&mut report, 165.0, 50.0);
        assert!(met(&report));
        tokens(&mut report, 166.0, 50.0);
        assert!(!met(&report), "a token is not free");
        tokens(&mut report, 165.0, 49.0);
        assert!(!met(&report), "something else than the signature");
    }

    #[test]
    fn judges_every_rule_over_http() {
        let met = |report: &Report| all_met(&judge(report), &options("--http"));
        assert!(met(&http(150.0, 200.0, 2048.0)));
        assert!(!met(&http(151.0, 200.0, 2048.0)));
        assert!(!met(&http(150.0, 201.0, 2048.0)), "the faster of the two is the peer");
        assert!(!met(&http(150.0, 200.0, 2049.0)));
        assert!(!met(&Report::new(&Subject::ALL)), "nothing measured is nothing met");
    }
}
