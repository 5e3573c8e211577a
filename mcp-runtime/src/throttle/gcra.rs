//! The generic cell rate algorithm: one number per caller says when their next request is due.
//!
//! The number is the *theoretical arrival time* (TAT): each request moves it on by the interval of the rate, and one that
//! would move it further ahead of the clock than the burst allows is refused. A TAT in the past means that the whole burst
//! is there, so such a state can be forgotten. <https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm>

use super::rate::RateLimit;

/// A point in time: nanoseconds since some beginning. 584 years fit.
pub(super) type Nanos = u64;

/// How many rounds of questions a call may have on credit, at most.
const CREDIT: u64 = 1024;

/// A rate and a burst, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gcra {
    /// The time between two requests at this rate.
    interval: Nanos,
    /// How far the TAT may be ahead of the clock: the intervals of a burst.
    window: Nanos,
}

/// A request is over the limit; it would not be after this many nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TooSoon(pub(super) Nanos);

impl Gcra {
    pub(super) fn new(limit: &RateLimit) -> Self {
        let period = u64::try_from(limit.period.duration().as_nanos()).unwrap_or(Nanos::MAX);
        // Rounded up: the rate is never exceeded.
        let interval = period.div_ceil(u64::from(limit.count.max(1))).max(1);
        Gcra { interval, window: interval.saturating_mul(u64::from(limit.most_at_once().max(1))) }
    }

    /// The TAT after one more request. One that goes on with a call, after so many `rounds` of questions, may be as many
    /// intervals ahead of the burst: the call was admitted, and what it is ahead is missing afterwards. A round that is
    /// repeated finds the credit used.
    pub(super) fn take(self, tat: Nanos, now: Nanos, rounds: usize) -> Result<Nanos, TooSoon> {
        let ahead = |rounds: u64| now.saturating_add(self.window).saturating_add(self.interval.saturating_mul(rounds));
        let furthest = ahead(CREDIT.min(rounds as u64));
        // Further ahead only if the clock has gone back; nobody waits for longer than that.
        let next = tat.clamp(now, ahead(CREDIT)).saturating_add(self.interval);
        if next <= furthest { Ok(next) } else { Err(TooSoon(next - furthest)) }
    }

    /// The TAT without the last request.
    pub(super) fn give_back(self, tat: Nanos) -> Nanos {
        tat.saturating_sub(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn limits() -> impl Strategy<Value = (RateLimit, Nanos)> {
        (1..=5000u32, 1..=200u32, 0..3u8).prop_map(|(count, burst, period)| match period {
            0 => (RateLimit::per_second(count).burst(burst), SECOND),
            1 => (RateLimit::per_minute(count).burst(burst), 60 * SECOND),
            _ => (RateLimit::per_hour(count).burst(burst), 3600 * SECOND),
        })
    }

    /// The times of requests, in order: some at once, some far apart.
    fn arrivals() -> impl Strategy<Value = Vec<Nanos>> {
        let gap = prop_oneof![3 => Just(0), 3 => 0..SECOND / 100, 2 => 0..SECOND, 1 => 0..600 * SECOND];
        proptest::collection::vec(gap, 1..300).prop_map(|gaps| {
            gaps.iter()
                .scan(0, |now, gap| {
                    *now += gap;
                    Some(*now)
                })
                .collect()
        })
    }

    #[test]
    fn burst_comes_at_once_and_then_the_rate() {
        let gcra = Gcra::new(&RateLimit::per_second(10).burst(3));
        let mut tat = 0;
        for _ in 0..3 {
            tat = gcra.take(tat, 0, 0).unwrap();
        }
        assert_eq!(gcra.take(tat, 0, 0), Err(TooSoon(SECOND / 10)));
        assert_eq!(gcra.take(tat, SECOND / 10 - 1, 0), Err(TooSoon(1)));
        tat = gcra.take(tat, SECOND / 10, 0).unwrap();
        assert_eq!(gcra.take(tat, SECOND / 10, 0), Err(TooSoon(SECOND / 10)));
        assert!(gcra.take(gcra.give_back(tat), SECOND / 10, 0).is_ok(), "what was given back is there again");
    }

    #[test]
    fn call_that_has_begun_goes_on_and_its_rounds_count() {
        let gcra = Gcra::new(&RateLimit::per_second(1));
        let mut tat = gcra.take(0, 0, 0).unwrap();
        for round in 1..=3 {
            tat = gcra.take(tat, 0, round).unwrap();
            assert_eq!(gcra.take(tat, 0, round), Err(TooSoon(SECOND)), "round {round} again");
        }
        assert_eq!(gcra.take(tat, 0, 0), Err(TooSoon(4 * SECOND)), "a new call waits for all of them");
        assert_eq!(gcra.take(tat, 4 * SECOND - 1, 0), Err(TooSoon(1)));
        assert!(gcra.take(tat, 4 * SECOND, 0).is_ok());
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate((limit, period) in limits(), arrivals in arrivals()) {
            let (gcra, mut tat, mut served) = (Gcra::new(&limit), 0, Vec::new());
            for now in arrivals {
                if let Ok(next) = gcra.take(tat, now, 0) {
                    tat = next;
                    served.push(now);
                }
            }
            for (first, begin) in served.iter().enumerate() {
                for (last, end) in served.iter().enumerate().skip(first) {
                    let most = u128::from(limit.most_at_once())
                        + u128::from(end - begin) * u128::from(limit.count) / u128::from(period);
                    prop_assert!((last - first + 1) as u128 <= most, "{} in {} ns", last - first + 1, end - begin);
                }
            }
        }

        #[test]
        fn whoever_waits_as_told_is_served((limit, _) in limits(), arrivals in arrivals()) {
            let (gcra, mut tat) = (Gcra::new(&limit), 0);
            for now in arrivals {
                match gcra.take(tat, now, 0) {
                    Ok(next) => tat = next,
                    Err(TooSoon(wait)) => {
                        prop_assert!(wait <= gcra.interval);
                        prop_assert_eq!(gcra.take(tat, now + wait - 1, 0), Err(TooSoon(1)));
                        prop_assert!(gcra.take(tat, now + wait, 0).is_ok());
                    }
                }
            }
        }

        #[test]
        fn waiting_makes_the_wait_shorter((limit, _) in limits(), tat in any::<Nanos>(), times in (any::<Nanos>(), any::<Nanos>())) {
            let gcra = Gcra::new(&limit);
            let (early, late) = (times.0.min(times.1), times.0.max(times.1));
            let wait = |now| gcra.take(tat, now, 0).err();
            prop_assert!(wait(late) <= wait(early), "{:?} at {early}, {:?} at {late}", wait(early), wait(late));
        }

        /// Whatever the clock says, nothing overflows, and nobody is told to wait for longer than the credit.
        #[test]
        fn hostile_clock_locks_nobody_out((limit, _) in limits(), clock in proptest::collection::vec(any::<Nanos>(), 1..50)) {
            let (gcra, mut tat) = (Gcra::new(&limit), 0);
            for now in clock {
                match gcra.take(tat, now, 0) {
                    Ok(next) => tat = next,
                    Err(TooSoon(wait)) => prop_assert!(wait <= gcra.interval.saturating_mul(CREDIT + 1)),
                }
            }
        }
    }
}
