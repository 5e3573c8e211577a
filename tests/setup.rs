//! Mistakes in putting a server together: told at once, with what to change.

use mcp_runtime::prelude::*;

/// Add.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

mod other {
    use mcp_runtime::prelude::*;

    /// Add, otherwise.
    #[tool]
    pub(super) fn add(a: f64, b: f64) -> f64 {
        a + b
    }
}

/// A note.
#[resource("note://{id}")]
fn note(id: String) -> String {
    id
}

/// A note, again.
#[resource("note://{number}")]
fn numbered(number: u64) -> String {
    number.to_string()
}

struct Calculator;

#[handlers]
impl Calculator {
    /// Halve.
    #[tool]
    fn halve(&self, n: f64) -> f64 {
        n / 2.0
    }
}

#[test]
#[should_panic(expected = "two tools are called `add`; rename one, or mount it with `mount_as`")]
fn two_tools_of_one_name() {
    let _ = Server::new("s", "1").tools(tools![add, other::add]);
}

#[test]
#[should_panic(expected = "`note://{id}` and `note://{number}` match the same URIs")]
fn two_templates_of_one_shape() {
    let _ = Server::new("s", "1").resources(resources![note, numbered]);
}

#[test]
#[should_panic(expected = "tool name `my calc_halve` contains ` `; allowed are ASCII letters")]
fn a_prefix_that_makes_a_bad_name() {
    let _ = Server::new("s", "1").mount_as("my calc", Calculator);
}

#[test]
fn the_panic_points_at_the_users_line() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = sender.send(panic.location().map(|location| location.file().to_owned()));
    }));
    let mounted = std::panic::catch_unwind(|| Server::new("s", "1").mount(Calculator).mount(Calculator));
    std::panic::set_hook(before);
    assert!(mounted.is_err());
    assert!(receiver.try_iter().flatten().any(|file| file.ends_with("setup.rs")));
}
