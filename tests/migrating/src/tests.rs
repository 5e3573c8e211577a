//! What the page says that rmcp does.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServiceExt, tool, tool_router};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[derive(Clone)]
struct Twice;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tool_router(server_handler)]
impl Twice {
    #[tool(name = "one", description = "The first.")]
    fn first(&self, _: Parameters<Nothing>) -> String {
        "first".into()
    }

    #[tool(name = "one", description = "The second.")]
    fn second(&self, _: Parameters<Nothing>) -> String {
        "second".into()
    }
}

#[test]
fn of_two_tools_of_one_name_it_keeps_the_second() {
    let tools = Twice::tool_router().list_all();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].description.as_deref(), Some("The second."));
}

#[tokio::test]
async fn it_does_not_elicit_in_2026_07_28() {
    let (ours, theirs) = tokio::io::duplex(65_536);
    tokio::spawn(async move { crate::asking::Asking.serve(theirs).await.unwrap().waiting().await });
    let (read, mut write) = tokio::io::split(ours);
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"delete","arguments":{{}},"_meta":{meta}}}}}"#
    );
    write.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    BufReader::new(read).read_line(&mut answer).await.unwrap();
    assert!(answer.contains(r#""isError":true"#), "{answer}");
}
