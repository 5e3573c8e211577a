//! Which calls layers surround, in which order, and what they know of them.

use mcp_runtime::auth::User;
use mcp_runtime::layers::{Call, Next, Outcome};
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::LogLevel;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{Revision, ToolResult};

use super::*;

#[tokio::test]
async fn layers_surround_every_kind_of_call_in_order() -> Result<()> {
    for &revision in Revision::ALL {
        let seen = Seen::default();
        // Added before the handlers and after them.
        let server = Server::new("order", "1.0.0").layer(seen.layer("outer")).tools(tools![double]);
        let server = server.tools([tools![fail].into_iter().next().unwrap().layer(seen.layer("own"))]);
        let client = TestClient::with_revision(server.layer(seen.layer("inner")), revision).await?;
        assert_eq!(client.call("double", json!({"number": 4})).await?.text(), "8");
        assert_eq!(
            seen.take(),
            ["outer tool double {\"number\":4}", "inner tool double {\"number\":4}", "inner done", "outer done"],
            "{revision}"
        );
        assert!(client.call("fail", json!({"how": ""})).await?.is_error());
        let order: Vec<String> = seen.take().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(order, ["outer", "inner", "own", "own", "inner", "outer"], "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn layers_see_name_kind_and_arguments_of_everything() -> Result<()> {
    for &revision in Revision::ALL {
        let seen = Seen::default();
        let client = TestClient::with_revision(server().layer(seen.layer("-")), revision).await?;
        for tool in ["double_later", "double_slowly"] {
            assert_eq!(client.call(tool, json!({"number": 4})).await?.text(), "8", "{revision}");
        }
        assert_eq!(client.get_prompt("paint", json!({"colour": "red"})).await?.text(), "Paint it red.");
        assert_eq!(client.read("note://motto").await?.text(), "slow and steady");
        assert_eq!(client.read("note://7").await?.text(), "note 7");
        assert_eq!(client.read("note://a%20b/named").await?.text(), "the note a b");
        assert_eq!(client.complete_prompt("paint", "colour", "gr", json!({})).await?.values, ["green", "grey"]);
        assert_eq!(client.request("tests.example/half", json!({"of": 8})).await?["value"], 4);
        let entered: Vec<String> = seen.take().into_iter().filter(|line| line != "- done").collect();
        assert_eq!(
            entered,
            [
                "- tool double_later {\"number\":4}",
                "- tool double_slowly {\"number\":4}",
                "- prompt paint {\"colour\":\"red\"}",
                "- resource note://motto {}",
                "- resource note://7 {\"id\":\"7\"}",
                "- resource note://a%20b/named {\"name\":\"a b\"}",
                "- completion paint {\"name\":\"colour\",\"value\":\"gr\"}",
                "- custom tests.example/half {\"of\":8}",
            ],
            "{revision}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn calls_without_a_handler_reach_no_layer() -> Result<()> {
    let seen = Seen::default();
    let client = TestClient::connect(server().layer(seen.layer("-"))).await?;
    client.list_tools().await?;
    client.list_templates().await?;
    assert!(client.call("unknown", json!({})).await.is_err());
    // Its template has a number: another template may match, or none.
    assert!(client.read("note://seven").await.is_err());
    assert!(client.read("other://").await.is_err());
    assert_eq!(seen.take(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn template_that_does_not_fit_leaves_the_uri_to_another() -> Result<()> {
    /// Anything.
    #[resource("note://{+anything}")]
    fn anything(anything: String) -> String {
        format!("any {anything}")
    }
    let seen = Seen::default();
    let client = TestClient::connect(server().resources(resources![anything]).layer(seen.layer("-"))).await?;
    assert_eq!(client.read("note://seven").await?.text(), "any seven");
    assert_eq!(seen.take(), ["- resource note://seven {\"anything\":\"seven\"}", "- done"]);
    Ok(())
}

#[tokio::test]
async fn layers_know_the_user_and_the_revision() -> Result<()> {
    async fn only_alice(call: Call, next: Next) -> Outcome {
        match call.user().map(|user| user.subject().to_owned()) {
            Some(subject) if subject == "alice" => next.run(call).await.with_meta("tests.example/for", subject),
            other => ToolResult::error(format!("{other:?} in {}", call.revision())).into(),
        }
    }
    for &revision in Revision::ALL {
        let connect = |name: &'static str| {
            TestClient::builder(server().layer(only_alice)).revision(revision).user(name, ["a"]).connect()
        };
        let response = connect("alice").await?.call("double", json!({"number": 1})).await?;
        assert_eq!((&*response.text(), &response.meta()["tests.example/for"]), ("2", &json!("alice")));
        let refused = connect("bob").await?.call("double", json!({"number": 1})).await?;
        assert_eq!(refused.text(), format!("Some(\"bob\") in {revision}"));
    }
    Ok(())
}

#[tokio::test]
async fn handlers_added_later_are_layered() -> Result<()> {
    /// Triple a number.
    #[tool]
    fn triple(number: u32) -> u32 {
        number * 3
    }
    let seen = Seen::default();
    let server = server().layer(seen.layer("-"));
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let own = tools![triple].into_iter().map(|tool| tool.layer(seen.layer("own")));
    handle.tools().add(own)?;
    assert_eq!(client.call("triple", json!({"number": 2})).await?.text(), "6");
    assert_eq!(seen.take().len(), 4);
    Ok(())
}

#[tokio::test]
async fn layers_of_runtime_tools_and_of_mounted_values() -> Result<()> {
    struct Notes(&'static str);
    #[handlers]
    impl Notes {
        /// Read.
        #[tool]
        fn read(&self) -> &'static str {
            self.0
        }

        /// A note.
        #[resource("own://{id}")]
        fn own(&self, id: u32) -> String {
            format!("{} {id}", self.0)
        }
    }
    let seen = Seen::default();
    let made =
        Tool::builder("made").description("Made at run time.").handler(|_, _: serde_json::Value| async { "made" });
    let mounted = mcp_runtime::Handlers::from(Notes("read")).layer(seen.layer("block")).layer(seen.layer("inner"));
    let server = Server::new("mounted", "1").tools([made.layer(seen.layer("own"))]).mount_as("my", mounted);
    let client = TestClient::connect(server).await?;
    assert_eq!(client.call("made", json!({})).await?.text(), "made");
    assert_eq!(seen.take(), ["own tool made {}", "own done"]);
    assert_eq!(client.call("my_read", json!({})).await?.text(), "read");
    assert_eq!(seen.take()[..2], ["block tool my_read {}", "inner tool my_read {}"]);
    assert_eq!(client.read("own://3").await?.text(), "read 3");
    assert_eq!(seen.take()[0], "block resource own://3 {\"id\":\"3\"}");
    Ok(())
}

#[tokio::test]
async fn layers_of_a_block_are_in_order_outside_of_those_of_handlers() -> Result<()> {
    let seen = Seen::default();
    let own = tools![double].into_iter().map(|tool| tool.layer(seen.layer("own"))).next().unwrap();
    let block = mcp_runtime::Handlers::new().layer(seen.layer("first")).tool(own).layer(seen.layer("second"));
    let server = Server::new("order", "1").mount(block).layer(seen.layer("server"));
    let handle = server.handle();
    let client = TestClient::connect(server).await?;
    let order =
        || -> Vec<String> { seen.take().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect() };
    client.call("double", json!({"number": 1})).await?;
    assert_eq!(order()[..4], ["server", "first", "second", "own"]);
    // Of one that is mounted later, too.
    let block = mcp_runtime::Handlers::new().layer(seen.layer("first")).layer(seen.layer("second"));
    handle.mount(block.tool(tools![add].into_iter().next().unwrap().layer(seen.layer("own"))))?;
    client.call("add", json!({"a": 1, "b": 2})).await?;
    assert_eq!(order()[..4], ["server", "first", "second", "own"]);
    Ok(())
}

#[tokio::test]
async fn hidden_handlers_and_missing_scopes_reach_no_layer() -> Result<()> {
    /// For staff.
    #[tool(scopes("staff"))]
    fn scoped() -> &'static str {
        "for staff"
    }
    /// A prompt for staff.
    #[prompt(scopes("staff"))]
    fn scoped_prompt(#[arg(complete = colours)] colour: String) -> String {
        colour
    }
    /// A resource for staff.
    #[resource("staff://{id}", scopes("staff"))]
    fn scoped_resource(id: u32) -> String {
        id.to_string()
    }
    fn nobody(_: &Context) -> bool {
        false
    }
    /// For nobody.
    #[tool(visible_if = nobody)]
    fn hidden() -> &'static str {
        "for nobody"
    }
    /// A resource for nobody.
    #[resource("hidden://one", visible_if = nobody)]
    fn hidden_resource() -> &'static str {
        "for nobody"
    }
    for &revision in Revision::ALL {
        let seen = Seen::default();
        let server = Server::new("scoped", "1")
            .tools(tools![scoped, hidden])
            .prompts(prompts![scoped_prompt])
            .resources(resources![scoped_resource, hidden_resource])
            .layer(seen.layer("-"));
        let user = User::new("alice").with_scopes(["guest"]);
        let client = TestClient::builder(server).revision(revision).user_is(user).connect().await?;
        assert!(client.call("scoped", json!({})).await.is_err());
        assert!(client.call("hidden", json!({})).await.is_err());
        assert!(client.get_prompt("scoped_prompt", json!({"colour": "red"})).await.is_err());
        assert!(client.complete_prompt("scoped_prompt", "colour", "r", json!({})).await.is_err());
        assert!(client.read("staff://1").await.is_err());
        assert!(client.read("hidden://one").await.is_err());
        assert_eq!(seen.take(), [""; 0], "{revision}");
    }
    Ok(())
}

#[tokio::test]
async fn server_whose_layers_may_log_says_so() -> Result<()> {
    async fn logs(call: Call, next: Next) -> Outcome {
        call.ctx().log(LogLevel::Info, "entered").await;
        next.run(call).await
    }
    // No handler of it takes a context.
    let plain = || Server::new("plain", "1").tools(tools![double]);
    let [tool] = tools![double];
    let own = Server::new("own", "1").tools([tool.layer(logs)]);
    for (server, declared) in [(plain(), false), (plain().layer(logs), true), (own, true)] {
        assert_eq!(mcp_runtime::testing::contract_of(&server).contains("\"logging\""), declared);
        let client = TestClient::connect(server).await?;
        let discovered = client.request("server/discover", json!({})).await?;
        assert_eq!(discovered["capabilities"].get("logging").is_some(), declared, "{discovered}");
        let observed = client.observe("double", json!({"number": 1})).await?;
        assert_eq!(observed.logs().len(), usize::from(declared));
    }
    Ok(())
}
