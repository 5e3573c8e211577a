//! Messages that are too long, too deep or too many.

use mcp_tests::process::Process;

use super::{MISBEHAVING, error, gets, gets_nothing, start};

/// `message_bytes` of the `misbehaving` server.
const LIMIT: usize = 1024 * 1024;
const TOO_LONG: &str = "Invalid request: the message is longer than 1048576 bytes";
const TOO_DEEP: &str = "Invalid request: the message is nested deeper than 128 levels";

/// A ping of `bytes` bytes, with its id in front.
fn ping(id: u64, bytes: usize) -> String {
    let (head, tail) = (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","x":""#), "\"}");
    let filling = "x".repeat(bytes - head.len() - tail.len());
    format!("{head}{filling}{tail}")
}

#[test]
fn message_bytes_limit_is_exact() {
    let mut server = start();
    gets(&mut server, ping(1, LIMIT), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    gets(&mut server, ping(2, LIMIT + 1), [&*error("2", -32600, TOO_LONG)]);
    // The id comes after the limit: null.
    let late = format!(r#"{{"jsonrpc":"2.0","method":"{}","id":3}}"#, "x".repeat(2 * LIMIT));
    gets(&mut server, late, [&*error("null", -32600, TOO_LONG)]);
    // The `id` of a nested object is not the message's.
    let inside = format!(r#"{{"params":{{"id":4,"x":"{}"}}}}"#, "x".repeat(2 * LIMIT));
    gets(&mut server, inside, [&*error("null", -32600, TOO_LONG)]);
    server.finish();
}

#[test]
fn oversized_line_is_skipped_in_bounded_memory() {
    let mut server = start();
    let writer = server.write_beside(|input| {
        use std::io::Write as _;
        input.write_all(
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":{"x":""#,
        )?;
        let piece = "x".repeat(1024 * 1024);
        (0..80).try_for_each(|_| input.write_all(piece.as_bytes()))?;
        input.write_all(b"\"}}}\n")
    });
    assert_eq!(server.line(), error("1", -32600, TOO_LONG));
    server.rejoin(writer);
    server.serves();
    #[cfg(target_os = "linux")]
    assert!(server.peak() < 24 * 1024, "80 MiB in, and {} KiB in memory", server.peak());
    server.finish();
}

#[test]
fn deep_nesting_is_rejected() {
    let mut server = start();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let too_deep = |id| error(id, -32600, TOO_DEEP);
    // In params, before and after the id.
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{open}{close}}}}}"#);
    gets(&mut server, frame, [&*too_deep("1")]);
    let frame = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":{open}{close}}},"id":2}}"#);
    gets(&mut server, frame, [&*too_deep("2")]);
    // In the arguments of a tool that takes trees, which are objects and lists by turns.
    let tree = format!(r#"{}{{"branches":[]}}{}"#, r#"{"branches":["#.repeat(20_000), "]}".repeat(20_000));
    let params = format!(r#"{{"name":"height","arguments":{{"tree":{tree}}}}}"#);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
    gets(&mut server, frame, [&*too_deep("3")]);
    // As a whole line, closed or not.
    gets(&mut server, format!("{open}{close}"), [&*too_deep("null")]);
    let not_json = "Parse error: the message is not valid JSON: EOF while parsing a list at line 1 column 100000";
    gets(&mut server, &open, [&*error("null", -32700, not_json)]);
    // Notifications and responses get no response.
    gets_nothing(&mut server, format!(r#"{{"jsonrpc":"2.0","method":"x","params":{open}{close}}}"#));
    gets_nothing(&mut server, format!(r#"{{"jsonrpc":"2.0","id":4,"result":{open}{close}}}"#));
    server.finish();
}

#[test]
fn depth_limit_is_exact() {
    let mut server = start();
    // The message, its params and its arguments are three levels, a tree is two.
    let call = |id, height: usize, rest: &str| {
        let below = height - 1;
        let tree = format!(r#"{}{{"branches":[{rest}]}}{}"#, r#"{"branches":["#.repeat(below), "]}".repeat(below));
        let params = format!(r#"{{"name":"height","arguments":{{"tree":{tree}}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let result = |id, text| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
    };
    gets(&mut server, call(1, 62, ""), [&*result(1, "62")]);
    // Width does not count as depth.
    gets(&mut server, call(2, 62, "").replace("[]", "[        ]"), [&*result(2, "62")]);
    let wide = vec![r#"{"branches":[]}"#; 10_000].join(",");
    gets(&mut server, call(3, 61, &wide), [&*result(3, "62")]);
    gets(&mut server, call(4, 63, ""), [&*error("4", -32600, TOO_DEEP)]);
    // Nor do brackets in a string.
    let text = "[{".repeat(1000);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","x":"{text}"}}"#);
    gets(&mut server, frame, [r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]);
    server.finish();
}

#[test]
fn batches_are_rejected_in_revisions_without_them() {
    let mut server = start();
    let none = "Invalid request: batches are not part of this protocol revision; send one message per line";
    for frame in ["[]", "[[]]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#] {
        gets(&mut server, frame, [&*error("null", -32600, none)]);
    }
    server.finish();
}

#[test]
fn malformed_and_oversized_batches_are_rejected() {
    let mut server = Process::in_revision(MISBEHAVING, "2025-03-26");
    let none = "Invalid request: a batch has at least one message";
    gets(&mut server, "[]", [&*error("null", -32600, none)]);
    gets(&mut server, "[ ]", [&*error("null", -32600, none)]);
    let no_message = error("null", -32600, "Invalid request: a message is a JSON object");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answer_to_it = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    gets(&mut server, format!("[[{ping}],{ping},[]]"), [&*format!("[{no_message},{answer_to_it},{no_message}]")]);
    gets(
        &mut server,
        format!("[{}]", vec![ping; 100].join(",")),
        [&*format!("[{}]", vec![answer_to_it; 100].join(","))],
    );

    let too_many = error("null", -32600, "Invalid request: a batch has at most 100 messages");
    gets(&mut server, format!("[{}]", vec![ping; 101].join(",")), [&*too_many]);
    gets(&mut server, format!("[{}]", vec!["1"; LIMIT / 2 - 1].join(",")), [&*too_many]);
    let half = format!("[{},", vec!["1"; LIMIT / 2 - 10].join(","));
    server.write(half + "\n");
    let answer = server.next();
    assert_eq!(answer["error"]["code"], -32700, "not JSON, however long: {answer}");
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    gets(&mut server, deep, [&*error("null", -32600, TOO_DEEP)]);
    #[cfg(target_os = "linux")]
    assert!(server.peak() < 24 * 1024, "{} KiB in memory", server.peak());
    server.finish();
}
