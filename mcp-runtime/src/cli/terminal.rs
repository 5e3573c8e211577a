//! What a person sees: colours if they are wanted, and the width of a line.

use std::fmt::{self, Display, Write as _};
use std::io::{IsTerminal, stderr, stdout};

/// An output stream, as a person or a program reads it.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    interactive: bool,
    colours: bool,
    width: usize,
}

/// The width where none is known.
const WIDTH: usize = 80;

impl Terminal {
    /// Standard output: coloured and as wide as the terminal if it is one.
    pub fn stdout() -> Self {
        Self::of(stdout().is_terminal())
    }

    /// Standard error: coloured and as wide as the terminal if it is one.
    pub fn stderr() -> Self {
        Self::of(stderr().is_terminal())
    }

    /// Without colours, 80 columns wide: for files, pipes and tests.
    pub fn plain() -> Self {
        Terminal { interactive: false, colours: false, width: WIDTH }
    }

    /// `NO_COLOR` and `CLICOLOR_FORCE` as <https://no-color.org> and <https://bixense.com/clicolors> have them.
    fn of(interactive: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (interactive && !dumb));
        Terminal { interactive, colours, width: if interactive { width() } else { WIDTH } }
    }

    /// Whether the stream is a terminal, which a person reads, and not a file or a pipe.
    pub fn is_interactive(self) -> bool {
        self.interactive
    }

    /// The columns of a line: those of the terminal, or 80.
    pub fn width(self) -> usize {
        self.width
    }

    /// Bold, for names: of a tool, an argument, a server.
    pub fn bold<T: Display>(self, text: T) -> Styled<T> {
        self.styled("1", text)
    }

    /// Dim, for details that most readers skip.
    pub fn dim<T: Display>(self, text: T) -> Styled<T> {
        self.styled("2", text)
    }

    /// Bold green, for success and for headings, as in cargo's output.
    pub fn green<T: Display>(self, text: T) -> Styled<T> {
        self.styled("1;32", text)
    }

    /// Bold red, for errors: the word `error:`, a check that failed.
    pub fn red<T: Display>(self, text: T) -> Styled<T> {
        self.styled("1;31", text)
    }

    /// Bold yellow, for warnings: the words `warning:` and `note:`.
    pub fn yellow<T: Display>(self, text: T) -> Styled<T> {
        self.styled("1;33", text)
    }

    /// Cyan, for what a person can type: commands and options.
    pub fn cyan<T: Display>(self, text: T) -> Styled<T> {
        self.styled("36", text)
    }

    /// Green, for a line that a change adds to a file.
    pub fn added<T: Display>(self, text: T) -> Styled<T> {
        self.styled("32", text)
    }

    /// Red, for a line that a change removes from a file.
    pub fn removed<T: Display>(self, text: T) -> Styled<T> {
        self.styled("31", text)
    }

    /// A text of the server for a person: without control characters, which could move the cursor or change colours.
    pub fn clean(self, text: &str) -> String {
        if !self.interactive {
            return text.to_owned();
        }
        text.chars().filter(|letter| is_harmless(*letter)).collect()
    }

    fn styled<T: Display>(self, code: &'static str, text: T) -> Styled<T> {
        Styled { code: self.colours.then_some(code), cleaned: self.interactive, text }
    }
}

/// A text in a style, by a method of [`Terminal`]. Displayed without escape codes where there are no colours.
#[derive(Debug)]
pub struct Styled<T> {
    code: Option<&'static str>,
    cleaned: bool,
    text: T,
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.code.map_or((String::new(), ""), |code| (format!("\x1b[{code}m"), "\x1b[0m"));
        f.write_str(&before)?;
        if self.cleaned {
            write!(Cleaned(f), "{}", self.text)?;
        } else {
            self.text.fmt(f)?;
        }
        f.write_str(after)
    }
}

/// Leaves control characters out.
struct Cleaned<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Cleaned<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().filter(|letter| is_harmless(*letter)).try_for_each(|letter| self.0.write_char(letter))
    }
}

fn is_harmless(letter: char) -> bool {
    matches!(letter, '\n' | '\t') || !letter.is_control()
}

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic where nobody reads any more.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        // Nobody is left to tell.
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
pub(crate) use say;

/// The columns of the terminal.
fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.or_else(columns).filter(|columns| *columns >= 20).unwrap_or(WIDTH)
}

#[cfg(unix)]
fn columns() -> Option<usize> {
    [rustix::termios::tcgetwinsize(stderr()), rustix::termios::tcgetwinsize(stdout())]
        .into_iter()
        .find_map(|size| size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0))
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    None
}
