//! On stdio, in a session and without one.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{self, Dev, Fixture};

/// How a client speaks.
#[derive(Clone, Copy, PartialEq)]
enum Era {
    Session,
    Stateless,
}

impl Era {
    fn params(self, mut params: Value) -> Value {
        if self == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }

    /// Begins to listen for changes.
    fn connect(self, dev: &mut Dev) {
        match self {
            Era::Session => {
                let client = json!({ "name": "test", "version": "1" });
                let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
                let answer = dev.request("initialize", &params);
                assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
                assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
                dev.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            }
            Era::Stateless => {
                let answer = dev.request("server/discover", &self.params(json!({})));
                assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
                dev.ask("subscriptions/listen", &self.params(json!({ "notifications": { "toolsListChanged": true } })));
                let acknowledged =
                    dev.receive(|message| message["method"] == "notifications/subscriptions/acknowledged");
                assert_eq!(acknowledged["params"]["notifications"]["toolsListChanged"], true);
            }
        }
    }

    fn call(self, dev: &mut Dev, tool: &str) -> Value {
        dev.request("tools/call", &self.params(json!({ "name": tool, "arguments": {} })))["result"].clone()
    }

    fn version(self, dev: &mut Dev) -> String {
        let result = self.call(dev, "version");
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no version: {result}")).to_owned()
    }

    fn tools(self, dev: &mut Dev) -> Vec<String> {
        let tools = dev.request("tools/list", &self.params(json!({})))["result"]["tools"].clone();
        tools.as_array().expect("tools").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

fn changed(dev: &Dev) -> Value {
    dev.receive(|message| message["method"] == "notifications/tools/list_changed")
}

fn three_edits(era: Era, name: &str) {
    let fixture = Fixture::new(name);
    let mut dev = fixture.dev(&[]);
    era.connect(&mut dev);
    assert_eq!(era.version(&mut dev), "1");

    // The first edit adds a tool.
    let saved = fixture.write(2, "/// Counts.\n#[tool]\nfn count() -> u32 {\n    3\n}");
    let notice = changed(&dev);
    if era == Era::Stateless {
        assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 102);
    }
    assert_eq!(era.call(&mut dev, "count")["content"][0]["text"], "3");
    eprintln!("{name}: from save to callable {:.2} s", saved.elapsed().as_secs_f64());
    assert!(era.tools(&mut dev).contains(&"count".to_owned()));
    let note = dev.note("Swapped");
    assert!(note.contains("+ tool `count`"), "{note}");

    // The second one does not compile: the model is told once, the old version goes on.
    fixture.break_it();
    dev.note("build failed");
    let result = era.call(&mut dev, "version");
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("mismatched types") && text.contains("repeat the call"), "{text}");
    assert_eq!(era.version(&mut dev), "2");

    // The third one removes the tool again, while a call is in flight.
    let gate = fixture.directory.join("gate");
    let waiting = dev.ask("tools/call", &era.params(json!({ "name": "wait", "arguments": { "path": gate } })));
    fixture::wait_for(&fixture.directory.join("gate.entered"));
    let saved = fixture.write(3, "");
    changed(&dev);
    assert_eq!(era.version(&mut dev), "3");
    eprintln!("{name}: from save to callable {:.2} s", saved.elapsed().as_secs_f64());
    fs::write(gate, "").expect("a file");
    assert_eq!(dev.response(waiting)["result"]["content"][0]["text"], "2", "the old version finishes its call");
    assert!(!era.tools(&mut dev).contains(&"count".to_owned()));
    assert!(dev.leave().success());
}

#[test]
fn client_in_a_session_stays_connected() {
    three_edits(Era::Session, "session");
}

#[test]
fn client_without_a_session_stays_connected() {
    three_edits(Era::Stateless, "stateless");
}

#[test]
fn server_that_exits_is_started_again() {
    let fixture = Fixture::new("crash");
    let mut dev = fixture.dev(&[]);
    Era::Session.connect(&mut dev);
    let answer = dev.request("tools/call", &json!({ "name": "crash", "arguments": {} }));
    let text = answer["error"]["message"].as_str().expect("an error");
    assert!(text.contains("exit status: 7"), "{text}");
    assert_eq!(Era::Session.version(&mut dev), "1");
    #[cfg(unix)]
    assert!(dev.terminate().success());
}

/// More than the pipes and queues on the way to the client hold.
pub(crate) const FLOOD: &str = "/// Says a lot.\n#[tool]\nasync fn flood(ctx: &Context, path: String) -> u32 {\n    \
    for number in 0..u32::MAX {\n        ctx.progress_message(number, None, &\"x\".repeat(10_000)).await;\n        \
    if number == 20 {\n            std::fs::write(&path, \"\").unwrap();\n        }\n    }\n    0\n}";

#[cfg(unix)]
#[test]
fn supervisor_ends_also_if_its_client_reads_nothing() {
    let fixture = Fixture::new("unread");
    fixture.write(1, FLOOD);
    let mut dev = fixture.dev_unread(&[]);
    let entered = fixture.directory.join("flooding");
    let mut params = Era::Stateless.params(json!({ "name": "flood", "arguments": { "path": entered } }));
    params["_meta"]["progressToken"] = 1.into();
    dev.ask("tools/call", &params);
    fixture::wait_for(&entered);
    // Until everything on the way is full.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(dev.terminate().success());
}

#[test]
fn requests_before_the_end_of_input_are_answered() {
    let fixture = Fixture::new("eof");
    let mut dev = fixture.dev(&["--quiet"]);
    let id = dev.ask("tools/call", &Era::Stateless.params(json!({ "name": "version", "arguments": {} })));
    let dev = dev.close();
    assert_eq!(dev.response(id)["result"]["content"][0]["text"], "1");
    assert!(dev.leave().success());
}
