//! What the good client's samples amount to.

use std::time::{Duration, Instant};

use crate::good::{Duty, Sample};

#[derive(Debug)]
pub(crate) struct Figures {
    /// The share of calls that failed, of the duty that fared worst.
    pub(crate) errors: f64,
    /// That duty, and what went wrong first.
    pub(crate) error: Option<(Duty, String)>,
    /// Under attack. `None` if no call succeeded.
    pub(crate) p99: Option<Duration>,
    /// Before.
    pub(crate) baseline: Option<Duration>,
    /// How late the client itself was, as the 99th percentile.
    pub(crate) late: Option<Duration>,
}

impl Figures {
    /// `alone` is when the baseline began, `attacked` when it ended.
    pub(crate) fn of(samples: &[Sample], alone: Instant, attacked: Instant) -> Self {
        let before = samples.iter().filter(|sample| sample.due >= alone && sample.due < attacked);
        let during = || samples.iter().filter(|sample| sample.due >= attacked);
        let of = |duty| during().filter(move |sample| sample.duty == duty);
        let shares = Duty::ALL.into_iter().filter_map(|duty| Some((duty, failed(of(duty))?)));
        let (worst, errors) = shares.max_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap_or((Duty::Add, 1.0));
        let error = of(worst).find_map(|sample| sample.outcome.as_ref().err().cloned());
        Figures {
            errors,
            error: error.map(|error| (worst, error)),
            p99: p99(during().filter_map(time)),
            baseline: p99(before.filter_map(time)),
            late: p99(during().map(|sample| sample.late)),
        }
    }
}

/// How long a call took that succeeded. What takes several requests is left out.
fn time(sample: &Sample) -> Option<Duration> {
    sample.outcome.as_ref().ok().copied().filter(|_| matches!(sample.duty, Duty::Add | Duty::Session))
}

/// The share of failures; `None` without samples.
#[expect(clippy::cast_precision_loss, reason = "thousands of calls")]
fn failed<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<f64> {
    let count = |(all, failed), sample: &Sample| (all + 1_usize, failed + usize::from(sample.outcome.is_err()));
    let (all, failed) = samples.fold((0, 0), count);
    (all > 0).then(|| failed as f64 / all as f64)
}

fn p99(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get((times.len() * 99).div_ceil(100).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Figures, p99};
    use crate::good::{Duty, Sample};

    #[test]
    fn percentile_is_the_nearest_rank() {
        let of = |count: u64| p99((1..=count).rev().map(Duration::from_millis)).map(|time| time.as_millis());
        assert_eq!([of(0), of(1), of(100), of(300)], [None, Some(1), Some(99), Some(297)]);
    }

    #[test]
    fn worst_duty_is_reported_and_the_baseline_is_what_came_before() {
        let alone = Instant::now();
        let attacked = alone + Duration::from_secs(1);
        let sample = |duty, due, outcome: Result<u64, &str>| {
            let outcome = outcome.map(Duration::from_millis).map_err(String::from);
            Sample { duty, due, late: Duration::ZERO, outcome }
        };
        let samples = [
            sample(Duty::Add, alone, Ok(2)),
            sample(Duty::Task, alone, Err("before")),
            sample(Duty::Add, attacked, Ok(7)),
            sample(Duty::Add, attacked, Err("status 503")),
            sample(Duty::Task, attacked, Err("too many")),
        ];
        let figures = Figures::of(&samples, alone, attacked);
        assert_eq!((figures.errors, figures.error), (1.0, Some((Duty::Task, "too many".to_owned()))));
        assert_eq!([figures.baseline, figures.p99].map(|time| time.unwrap().as_millis()), [2, 7]);
        let nothing = Figures::of(&[], alone, attacked);
        assert_eq!((nothing.errors, nothing.p99), (1.0, None), "a client that did nothing had no success");
    }
}
