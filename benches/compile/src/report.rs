//! The figures: the least of what was measured, and the table.

use std::fmt;

use crate::generate::Framework;

pub type Figure = f64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    Check,
    Build,
    Release,
    Clean,
    Crates,
    Hello,
    Tool,
}

impl Metric {
    const ALL: [Self; 7] =
        [Self::Check, Self::Build, Self::Release, Self::Clean, Self::Crates, Self::Hello, Self::Tool];

    /// Times of the leaf crate alone.
    pub const LEAF: [Self; 3] = [Self::Check, Self::Build, Self::Release];

    fn is_seconds(self) -> bool {
        matches!(self, Self::Check | Self::Build | Self::Release | Self::Clean)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Check => "check of the leaf crate, CPU s",
            Self::Build => "build of the leaf crate, CPU s",
            Self::Release => "release build of the leaf crate, CPU s",
            Self::Clean => "clean release build of everything, CPU s",
            Self::Crates => "crates of hello",
            Self::Hello => "stripped hello, bytes",
            Self::Tool => "stripped bytes per tool",
        })
    }
}

#[derive(Default)]
pub struct Report {
    figures: Vec<(Metric, Framework, Figure)>,
}

impl Report {
    pub fn add(&mut self, metric: Metric, framework: Framework, figure: Figure) {
        self.figures.push((metric, framework, figure));
    }

    /// The least, because noise only adds.
    pub fn figure(&self, metric: Metric, framework: Framework) -> Option<Figure> {
        let figures = self.figures.iter().filter(|(of, on, _)| (*of, *on) == (metric, framework));
        figures.map(|(.., figure)| *figure).reduce(Figure::min)
    }

    /// Ours over rmcp's.
    pub fn ratio(&self, metric: Metric) -> Option<Figure> {
        Some(self.figure(metric, Framework::Ours)? / self.figure(metric, Framework::Rmcp)?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | ours | rmcp | ours / rmcp |\n|---|--:|--:|--:|")?;
        for metric in Metric::ALL {
            let cell = |framework| {
                self.figure(metric, framework).map_or_else(
                    || "–".to_owned(),
                    |figure| if metric.is_seconds() { format!("{figure:.2}") } else { grouped(figure) },
                )
            };
            let (ours, rmcp) = (cell(Framework::Ours), cell(Framework::Rmcp));
            if (ours.as_str(), rmcp.as_str()) != ("–", "–") {
                let ratio = self.ratio(metric).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
                writeln!(f, "| {metric} | {ours} | {rmcp} | {ratio} |")?;
            }
        }
        writeln!(f)
    }
}

/// A whole number in groups of three digits.
fn grouped(figure: Figure) -> String {
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_figure_counts() {
        let mut report = Report::default();
        for figure in [2.0, 1.0, 3.0] {
            report.add(Metric::Check, Framework::Ours, figure);
        }
        report.add(Metric::Check, Framework::Rmcp, 4.0);
        assert_eq!(report.ratio(Metric::Check), Some(0.25));
        assert_eq!(report.ratio(Metric::Build), None);
        assert!(report.to_string().contains("| 1.00 | 4.00 | 0.25 |"), "{report}");
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([1.0, 999.0, 1000.0, 2_508_648.0].map(grouped), ["1", "999", "1,000", "2,508,648"]);
    }
}
