//! The script `run`, with the programs that were built for the tests.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

#[test]
fn client_goes_on_when_its_replica_is_killed() {
    let server = Path::new(env!("CARGO_BIN_EXE_fleet-demo"));
    let mut script = Command::new("bash");
    script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/run"));
    // Without them, as with `cargo test --test run`, the script builds all of them itself.
    let [proxy, client] = ["proxy", "client"].map(|name| server.with_file_name("examples").join(name));
    if proxy.is_file() && client.is_file() {
        script.env("SERVER", server).env("PROXY", proxy).env("CLIENT", client);
    }
    let output = script.output().unwrap();
    let (said, complaints) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complaints}");

    let line = |part: &str| said.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {said}"));
    let first = line("  answered by ");
    for replica in ["replica-1", "replica-2", "replica-3"] {
        assert_eq!(first.matches(replica).count(), 2, "{first}");
    }
    line("asked: How many copies");
    line("3 copies of Rust by Example, ordered at replica-");
    let killed = line("kill -9: ").split([' ', ',']).find(|word| word.starts_with("replica-")).unwrap();
    let after = line("  completed (meanwhile: ");
    assert!(after.contains("answered by") && !after.contains(killed), "{after}");
    let result = line("  12 pages: ");
    assert!(result.contains("replica-"), "{result}");
    line("done: ");
}
