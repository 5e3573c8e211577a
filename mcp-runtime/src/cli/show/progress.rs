//! Progress on standard error: a bar that a person watches, lines if they are asked for.

use std::io::{Write, stderr};

use serde_json::Value;

use super::text::clean;
use crate::cli::terminal::{Terminal, say};

/// The progress of one call.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: Terminal,
    /// Lines instead of a bar.
    lines: bool,
    /// Whether a bar is on the current line.
    shown: bool,
    /// The message of the last report.
    message: String,
}

/// The columns of the bar itself.
const BAR: usize = 24;

impl Progress {
    pub(crate) fn new(terminal: Terminal, lines: bool) -> Self {
        Progress { terminal, lines: lines && !terminal.is_interactive(), shown: false, message: String::new() }
    }

    /// Shows a report: the parameters of `notifications/progress`.
    pub(crate) fn report(&mut self, params: &Value) {
        params["message"].as_str().unwrap_or_default().clone_into(&mut self.message);
        let text = self.text(params);
        self.show(&text);
    }

    /// Shows the status of a task: the parameters of `notifications/tasks/status`. A report may have said it before.
    pub(crate) fn status(&mut self, params: &Value) {
        let Some(message) = params["statusMessage"].as_str() else { return };
        if message == self.message || message.is_empty() {
            return;
        }
        message.clone_into(&mut self.message);
        let text = clean(self.terminal, message).replace('\n', " ");
        let room = if self.lines { usize::MAX } else { self.terminal.width() - 1 };
        self.show(&text.chars().take(room).collect::<String>());
    }

    fn show(&mut self, text: &str) {
        if self.lines {
            say!("{text}");
        } else if self.terminal.is_interactive() {
            eprint!("\r\x1b[2K{text}");
            let _ = stderr().flush();
            self.shown = true;
        }
    }

    /// Shows a log message: the parameters of `notifications/message`.
    pub(crate) fn log(&mut self, params: &Value) {
        self.clear();
        let data = match &params["data"] {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let level = params["level"].as_str().unwrap_or("info");
        let styled = match level {
            "error" | "critical" | "alert" | "emergency" => self.terminal.red(level).to_string(),
            "warning" => self.terminal.yellow(level).to_string(),
            _ => self.terminal.dim(level).to_string(),
        };
        say!("{styled}: {}", clean(self.terminal, &data));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            eprint!("\r\x1b[2K");
            let _ = stderr().flush();
        }
    }

    fn text(&self, params: &Value) -> String {
        let done = params["progress"].as_f64().unwrap_or_default();
        let message = clean(self.terminal, params["message"].as_str().unwrap_or_default()).replace('\n', " ");
        let counted = match params["total"].as_f64().filter(|total| *total > 0.0) {
            Some(total) if self.lines => format!("[{done}/{total}]"),
            Some(total) => bar(done / total),
            None => format!("[{done}]"),
        };
        let room = self.terminal.width().saturating_sub(counted.chars().count() + 2);
        let message: String = if self.lines { message } else { message.chars().take(room).collect() };
        format!("{counted} {message}").trim_end().to_owned()
    }
}

/// Also of a call that was given up.
impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = (share * BAR as f64).round() as usize;
    let arrow = if full == BAR { "" } else { ">" };
    let done = "=".repeat(full);
    format!("[{done}{arrow}{:rest$}] {:3.0}%", "", share * 100.0, rest = BAR - full - arrow.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_keep_their_width() {
        assert_eq!(bar(0.0), "[>                       ]   0%");
        assert_eq!(bar(0.5), "[============>           ]  50%");
        assert_eq!(bar(1.0), "[========================] 100%");
        assert_eq!(bar(7.0), bar(1.0));
    }
}
