//! What is no server, or cannot be reached, is told in time, with exit code 3.

use std::net::TcpListener;

use crate::script::over_http;
use crate::{Done, cargo_mcp, run};

#[track_caller]
fn refused(line: &str, hints: &[&str]) {
    let Done { out, err, code } = run(&mut cargo_mcp(line));
    assert_eq!((code, out.as_str()), (3, ""), "{line}: {err}");
    for hint in hints {
        assert!(err.contains(hint), "{line}: no `{hint}` in {err}");
    }
}

#[cfg(unix)]
#[test]
fn programs_that_are_no_servers_are_given_up() {
    refused("tools --timeout 2 -- cat", &["did not answer within 2 s", "is it an MCP server", "server/discover"]);
    refused("tools --timeout 2 -- sleep 600", &["did not answer within 2 s", "`--timeout SECONDS` waits longer"]);
    refused("tools --timeout 60 -- true", &["`true` exited with exit status: 0 before it answered"]);
    refused("tools -- /does/not/exist", &["there is no such program"]);
}

#[test]
fn address_that_accepts_and_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let held = std::thread::spawn(move || listener.incoming().map_while(Result::ok).take(2).collect::<Vec<_>>());
    refused(&format!("tools --timeout 2 --url http://{address}/mcp"), &["did not answer within 2 s"]);
    drop(held);
}

#[test]
fn address_where_nobody_listens_is_told() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address");
    refused(&format!("tools --url http://{free}/mcp"), &["cannot reach http://"]);
}

#[test]
fn help_of_discover_is_printed() {
    for option in ["--help", "-h"] {
        let Done { out, err, code } = run(&mut cargo_mcp(&format!("discover {option}")));
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("Usage: cargo mcp discover") && out.contains("--json"), "{out}");
    }
}

/// The commands of `docs/book/deploying.md`, at a server that asks for no token: `doctor` finds that.
#[test]
fn deployed_server_is_examined_as_the_book_says() {
    let page = include_str!("../../../docs/book/deploying.md");
    let lines =
        page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a transcript").lines();
    let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("$ cargo mcp ")).collect();
    let (url, _) = over_http();
    let done = commands.iter().map(|line| run(&mut cargo_mcp(&line.replace("https://mcp.example.com/mcp", &url))));
    let [tools, doctor] = &done.collect::<Vec<_>>()[..] else { panic!("{commands:?}") };
    assert!(tools.code == 0 && tools.out.contains("steps") && tools.out.contains("endless"), "{tools:?}");
    assert!(doctor.code == 1 && doctor.out.contains("challenge") && doctor.out.contains(&url), "{doctor:?}");
}

/// Unlike other commands: what is wrong with the server is the answer.
#[test]
fn doctor_examines_any_server() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address");
    let Done { out, err, code } = run(&mut cargo_mcp(&format!("doctor http://{free}/mcp")));
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("failure  challenge ") && out.contains("→ nothing listens there"), "{out}");
    let Done { err, code, .. } = run(&mut cargo_mcp("doctor"));
    assert!(code == 2 && err.contains("write `doctor URL`"), "{err}");
    let Done { out, code, .. } = run(&mut cargo_mcp("doctor --help"));
    assert!(code == 0 && out.contains("doctor URL"), "{out}");
}
