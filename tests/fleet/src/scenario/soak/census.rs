//! What processes have over time: memory and descriptors, as the kernel counts them.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// By how much the memory of the last quarter may exceed that of the second one: in MiB, and in percent. In a soak of
/// seconds tables still fill; in one of minutes they are full.
const GROWTH: (f64, f64) = (2.0, 5.0);
const SHORT_GROWTH: (f64, f64) = (12.0, 25.0);

/// Descriptors that may be open at the end beside those of the beginning: connections kept alive to Redis, and for a
/// moment to clients.
const DESCRIPTORS: usize = 4;

/// How long connections may take to close when everybody has left.
const LEAVE: Duration = Duration::from_secs(20);

/// The processes, and what they had.
#[derive(Debug)]
pub(super) struct Census(Vec<Counted>);

#[derive(Debug)]
struct Counted {
    process: u32,
    /// Descriptors at the beginning.
    descriptors: usize,
    most_descriptors: usize,
    /// MiB, once in a while.
    memory: Vec<f64>,
}

impl Census {
    pub(super) fn new(processes: impl Iterator<Item = u32>) -> Self {
        let counted = |process| {
            let descriptors = descriptors(process).unwrap_or_default();
            Counted { process, descriptors, most_descriptors: descriptors, memory: Vec::new() }
        };
        Census(processes.map(counted).collect())
    }

    /// Counts twice a second.
    pub(super) async fn count_for(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            for counted in &mut self.0 {
                counted.memory.extend(resident(counted.process));
                counted.most_descriptors =
                    counted.most_descriptors.max(descriptors(counted.process).unwrap_or_default());
            }
            sleep(Duration::from_millis(500).min(time.saturating_sub(begun.elapsed()))).await;
        }
    }

    /// What does not stay flat, when everybody has left.
    pub(super) async fn verdict(&self, short: bool) -> Vec<String> {
        let begun = Instant::now();
        while begun.elapsed() < LEAVE && self.0.iter().any(|counted| counted.leak().is_some()) {
            sleep(Duration::from_millis(200)).await;
        }
        let growth = if short { SHORT_GROWTH } else { GROWTH };
        self.0.iter().flat_map(|counted| counted.leak().into_iter().chain(counted.growth(growth))).collect()
    }
}

impl Counted {
    fn leak(&self) -> Option<String> {
        let Some(now) = descriptors(self.process) else { return Some(format!("process {} has ended", self.process)) };
        let most = self.descriptors + DESCRIPTORS;
        (now > most).then(|| format!("{now} descriptors are open at the end, {} at the beginning", self.descriptors))
    }

    fn growth(&self, (mebibytes, percent): (f64, f64)) -> Option<String> {
        let (before, after) = self.quarters();
        let most = before + f64::max(mebibytes, before * percent / 100.0);
        (after > most).then(|| format!("memory grows from {before:.1} to {after:.1} MiB"))
    }

    /// The memory of the second quarter, and of the last: medians, which mind no peak.
    fn quarters(&self) -> (f64, f64) {
        let quarter = self.memory.len() / 4;
        (median(&self.memory[quarter..2 * quarter]), median(&self.memory[3 * quarter..]))
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory in the second and the last quarter, and most descriptors:")?;
        for counted in &self.0 {
            let (before, after) = counted.quarters();
            write!(f, " {before:.1} and {after:.1} MiB, {};", counted.most_descriptors)?;
        }
        Ok(())
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// MiB of resident memory.
fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    value.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
}

fn descriptors(process: u32) -> Option<usize> {
    fs::read_dir(format!("/proc/{process}/fd")).ok().map(Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::{Counted, GROWTH, SHORT_GROWTH};

    fn of(memory: Vec<f64>) -> Counted {
        Counted { process: std::process::id(), descriptors: 1000, most_descriptors: 0, memory }
    }

    #[test]
    fn a_peak_is_no_growth_and_a_slope_is() {
        let flat: Vec<f64> = (0..100).map(|at| if at == 80 { 90.0 } else { 20.0 }).collect();
        assert_eq!(of(flat).growth(GROWTH), None);
        let slope = of((0..100).map(|at| 20.0 + f64::from(at) / 10.0).collect());
        assert!(slope.growth(GROWTH).is_some_and(|text| text.contains("memory grows from 23.7 to 28.7")));
        assert_eq!(slope.growth(SHORT_GROWTH), None);
    }

    #[test]
    fn descriptors_that_stay_open_are_a_leak() {
        assert_eq!(of(Vec::new()).leak(), None);
        let leaking = Counted { descriptors: 0, ..of(Vec::new()) };
        let open: Vec<_> = (0..8).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        assert!(leaking.leak().is_some_and(|text| text.contains("descriptors are open")));
        drop(open);
    }
}
