//! The driver's own verdict, against a server that never answers.

use std::net::TcpListener;
use std::process::{Command, Output};

fn attack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attack")).args(args).output().expect("the driver starts")
}

#[test]
fn check_fails_for_a_server_that_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", silent.local_addr().expect("an address"));
    let output = attack(&["--short", "--check", "--retries", "1", "--url", &url, "blocking", "silent-1024"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    let row = |name: &str| table.lines().find(|line| line.contains(name)).expect("a row").to_owned();
    assert!(row("| blocking ").contains("|    100.0 |") && row("| blocking ").contains("once more"), "{table}");
    let missed = table.lines().filter(|line| line.contains("| MISSED: errors")).count();
    assert!(missed == 1 && table.contains("Missed by 1."), "{table}");
    assert!(row("| silent-1024 ").ends_with("– (needs a server started by the driver)"), "{table}");
}

#[test]
fn mistakes_of_the_command_line_are_told() {
    for (args, told) in [
        (&["slow-bodie"][..], "slow-bodies"),
        (&["--url", "http://192.0.2.1:80/mcp"], "only servers on loopback"),
        (&["--fast"], "usage: attack"),
    ] {
        let output = attack(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(told), "{args:?}: {errors}");
    }
}
