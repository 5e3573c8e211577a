//! The figures collected so far, and their two printed forms: a table of ratios, and JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::{bar::Verdict, http::Era, subject::Subject, work::Tool};

pub const ONE_CORE_SEQUENTIAL: &str = "CPU µs per 1000 calls, one core, sequential";
pub const ONE_CORE_PIPELINED: &str = "CPU µs per 1000 calls, one core, 64 in flight";
pub const FREE_PIPELINED: &str = "CPU µs per 1000 calls, all cores, 64 in flight";
pub const SWITCHES: &str = "context switches per call, sequential";
pub const MEMORY: &str = "peak memory, bytes";
pub const BINARY: &str = "stripped binary, bytes";

pub const SESSION_MEMORY: &str = "HTTP, memory per idle session, bytes";
pub const SIGNATURE: &str = "instructions of a signature (RS256, 2048 bits)";
pub const HTTP_BINARY: &str = "HTTP, stripped binary, bytes";

pub fn http_instructions(era: Era) -> String {
    format!("HTTP {era}, instructions per call")
}

/// The same call by a caller with a token of this kind.
pub fn http_authorized(era: Era, kind: &str) -> String {
    format!("HTTP {era}, instructions, {kind}")
}

pub fn http_sequential(era: Era) -> String {
    format!("HTTP {era}, CPU, one core, sequential")
}

pub fn http_parallel(era: Era) -> String {
    format!("HTTP {era}, CPU, one core, 64 connections")
}

pub fn http_free_parallel(era: Era) -> String {
    format!("HTTP {era}, CPU, all cores, 64 connections")
}

pub fn http_latency(era: Era, percent: u32) -> String {
    format!("HTTP {era}, p{percent} µs, 64 connections")
}

pub fn instructions(tool: Tool) -> String {
    format!("instructions per call, {tool}")
}

pub fn instructions_among(others: usize) -> String {
    format!("instructions per call, add among {others} others")
}

/// The same in a server with this of what operators need.
pub fn instructions_operated(mode: &str) -> String {
    format!("instructions per call, add, {mode}")
}

pub fn allocations(tool: Tool) -> String {
    format!("allocations per call, {tool}")
}

/// One metric with a figure per subject.
struct Row {
    metric: String,
    figures: Vec<Option<f64>>,
}

pub struct Report {
    subjects: Vec<Subject>,
    rows: Vec<Row>,
}

impl Report {
    pub fn new(subjects: &[Subject]) -> Self {
        Self { subjects: subjects.to_vec(), rows: Vec::new() }
    }

    pub fn add(&mut self, metric: impl Into<String>, subject: Subject, figure: f64) {
        let metric = metric.into();
        let row = self.rows.iter().position(|row| row.metric == metric).unwrap_or_else(|| {
            self.rows.push(Row { metric, figures: vec![None; self.subjects.len()] });
            self.rows.len() - 1
        });
        if let Some(column) = self.column(subject) {
            self.rows[row].figures[column] = Some(figure);
        }
    }

    pub fn figure(&self, metric: &str, subject: Subject) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.metric == metric)?;
        row.figures[self.column(subject)?]
    }

    fn column(&self, subject: Subject) -> Option<usize> {
        self.subjects.iter().position(|column| *column == subject)
    }

    fn ratio(&self, row: &Row, column: usize) -> Option<f64> {
        let floor = self.figure(&row.metric, Subject::Floor)?;
        let figure = row.figures[column]?;
        (floor > 0.0).then(|| figure / floor)
    }

    /// Ratios first, since only they compare across machines; the raw figures after them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.subjects.contains(&Subject::Floor) {
            self.table(&mut text, "times the floor", |row, column| {
                self.ratio(row, column).map(|ratio| format!("{ratio:.2}"))
            });
        }
        self.table(&mut text, "raw figures", |row, column| row.figures[column].map(grouped));
        text
    }

    fn table(&self, text: &mut String, title: &str, cell: impl Fn(&Row, usize) -> Option<String>) {
        let mut line = format!("{title:<48}");
        for subject in &self.subjects {
            let _ = write!(line, "{subject:>13}");
        }
        let _ = writeln!(text, "{line}\n{}", "-".repeat(line.chars().count()));
        for row in &self.rows {
            let cells: Vec<Option<String>> = (0..self.subjects.len()).map(|column| cell(row, column)).collect();
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let _ = write!(text, "{:<48}", row.metric);
            for cell in cells {
                let _ = write!(text, "{:>13}", cell.as_deref().unwrap_or("-"));
            }
            text.push('\n');
        }
        text.push('\n');
    }

    pub fn json(&self, verdicts: &[Verdict]) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let bar: Vec<Value> = verdicts.iter().map(Verdict::json).collect();
        json!({ "metrics": rows, "bar": bar })
    }

    fn row_json(&self, row: &Row) -> Value {
        let mut figures = Map::new();
        let mut ratios = Map::new();
        for (column, subject) in self.subjects.iter().enumerate() {
            if let Some(figure) = row.figures[column] {
                figures.insert(subject.to_string(), json!(figure));
            }
            if let Some(ratio) = self.ratio(row, column) {
                ratios.insert(subject.to_string(), json!(ratio));
            }
        }
        json!({ "metric": row.metric, "figures": figures, "ratios": ratios })
    }
}

/// Two decimals while they say something, then whole numbers in groups of three.
fn grouped(figure: f64) -> String {
    if figure < 100.0 {
        return format!("{figure:.2}");
    }
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
