//! What a server says over HTTP is shown, also when it says it before it has read the message.

use std::io::Read as _;
use std::net::Shutdown;

use crate::script::{content_length, listen, over_http, respond};
use crate::{Done, cargo_mcp, run};

/// Refuses every message by its head, and closes the connection: what the client still sends is answered with a reset.
#[test]
fn status_is_shown_also_if_the_body_was_not_read() {
    let url = listen(|mut stream, _| {
        respond(stream.get_mut(), "401 Unauthorized", "who are you?");
        let _ = stream.get_ref().shutdown(Shutdown::Both);
    });
    for _ in 0..20 {
        let Done { err, code, .. } = run(&mut cargo_mcp(&format!("tools --url {url}")));
        assert_eq!(code, 3, "{err}");
        assert!(err.contains("HTTP status 401: who are you?; pass `--header 'Authorization"), "{err}");
    }
}

#[test]
fn status_is_shown_for_a_long_message_that_was_not_read() {
    // What is long is refused by its length; the rest is the script's.
    let (script, _) = over_http();
    let target = script.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let url = listen(move |mut stream, head| {
        let length = content_length(&head);
        if length > 100_000 {
            return respond(stream.get_mut(), "413 Content Too Large", "at most 100 kB");
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        let mut there = std::net::TcpStream::connect(&target).expect("the script");
        std::io::Write::write_all(&mut there, &[head.as_bytes(), &body].concat()).expect("the script reads");
        let mut answer = Vec::new();
        there.read_to_end(&mut answer).expect("an answer");
        let _ = std::io::Write::write_all(stream.get_mut(), &answer);
    });
    let long = "x".repeat(4_000_000);
    let file = crate::script::fresh_file("long");
    std::fs::write(&file, long).expect("a file");
    let line = format!("call steps text=@{} --url {url}", file.display());
    let Done { err, code, .. } = run(&mut cargo_mcp(&line));
    assert!(code == 3 && err.contains("HTTP status 413: at most 100 kB"), "{code} {err}");
}
