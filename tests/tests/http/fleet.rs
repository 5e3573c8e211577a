//! Two processes with one secret behind a round-robin proxy: each round of a call is served by the other one, and
//! only the client's `requestState` goes from one to the next.

use std::net::SocketAddr;
use std::process::Command;

use mcp_runtime::prelude::*;
use mcp_tests::http::{Response, Wire, modern};
use mcp_tests::process::Process;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

const SECRET: &str = "the secret of this fleet, long enough";

/// A process, and where it listens.
fn replica(secret: Option<&str>) -> (Process, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replica"));
    command.env_remove("REPLICA_SECRET").envs(secret.map(|secret| ("REPLICA_SECRET", secret)));
    let mut process = Process::of(&mut command);
    let address = process.line().parse().unwrap();
    (process, address)
}

/// A round-robin proxy.
async fn proxy(behind: [SocketAddr; 2]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for next in behind.into_iter().cycle() {
            let (mut near, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut far = TcpStream::connect(next).await.unwrap();
                // Ends when either side closes.
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    address
}

/// One round, on a connection of its own.
async fn round(address: SocketAddr, more: &Value) -> Response {
    let capabilities = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let mut params = json!({"name": "apply", "arguments": {}, "_meta": capabilities});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut wire = Wire::to(address).await;
    wire.send(&modern("tools/call", params).bytes()).await;
    wire.response().await
}

/// The same call with an answer to every question, and the state as it came.
fn answered(asked: &Value, text: &str) -> Value {
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let accept = json!({"action": "accept", "content": {"text": text}});
    let keys = asked["inputRequests"].as_object().unwrap().keys();
    let responses: serde_json::Map<_, _> = keys.map(|key| (key.clone(), accept.clone())).collect();
    json!({"inputResponses": responses, "requestState": asked["requestState"]})
}

#[tokio::test]
async fn rounds_may_alternate_between_processes() {
    let ((one, first), (other, second)) = (replica(Some(SECRET)), replica(Some(SECRET)));
    let address = proxy([first, second]).await;
    let mut more = json!({});
    for text in ["Ada", "London", "mathematics"] {
        let response = round(address, &more).await;
        assert_eq!(response.status, 200, "{response:?}");
        more = answered(&response.json(), text);
    }
    let result = round(address, &more).await.json();
    // What was done first is known to all; what was done in the third round was done by the first again.
    let expected = format!("Ada of London, mathematics: {0} {0} {1}", one.id(), other.id());
    assert_eq!(result["result"]["content"][0]["text"], expected);
}

#[tokio::test]
async fn round_is_rejected_without_a_shared_secret() {
    for (one, other) in [(Some(SECRET), Some("another secret, which is long enough, too")), (None, None)] {
        let ((_one, first), (_other, second)) = (replica(one), replica(other));
        let address = proxy([first, second]).await;
        let more = answered(&round(address, &json!({})).await.json(), "Ada");
        let refused = round(address, &more).await;
        assert_eq!(refused.outcome().1, -32602, "{refused:?}");
        assert_eq!(
            refused.json()["error"]["message"],
            "Invalid params: `requestState` is not what this server sent for this call; \
             make the call again without it and `inputResponses`"
        );
        // Its own state is still good, and the call can begin again.
        assert_eq!(round(address, &more).await.json()["result"]["resultType"], "input_required");
    }
}
