//! Texts of the server for a person: cleaned, shortened, wrapped.

use crate::cli::terminal::Terminal;

/// [`Terminal::clean`].
pub(crate) fn clean(terminal: Terminal, text: &str) -> String {
    terminal.clean(text)
}

/// The first line of a description.
pub(crate) fn first_line(description: Option<&str>) -> &str {
    description.unwrap_or_default().trim_start().lines().next().unwrap_or_default().trim_end()
}

/// Wraps a text at the terminal's width, with each line indented.
pub(crate) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
}
