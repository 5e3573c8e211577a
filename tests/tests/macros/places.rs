//! Where the macros can be used: in functions, modules and other macros, under another crate name.

use mcp_runtime::prelude::*;

use crate::{client, connect};

mod inner {
    pub(crate) use mcp_runtime as rt;
}

mod renamed {
    // Hides the crate: what is generated must not name it.
    #[allow(unused_imports)]
    mod mcp_runtime {}

    use super::inner;
    use inner::rt::{Resource, handlers, prompt, prompts, resource, resources, tool, tools};

    #[tool(crate = inner::rt, meta = { "a": 1 })]
    pub(super) fn add(a: i64, #[arg(default = 2)] b: i64) -> i64 {
        a + b
    }

    #[prompt(crate = super::inner::rt)]
    pub(super) async fn greet(name: String) -> String {
        name
    }

    #[resource("note://{id}", crate = crate::places::inner::rt)]
    pub(super) fn note(id: u64) -> String {
        id.to_string()
    }

    pub(super) struct Notebook;

    #[handlers(crate = inner::rt)]
    impl Notebook {
        #[tool]
        fn search(&self, ctx: &inner::rt::Context) -> String {
            ctx.request_id().to_owned()
        }

        #[resource("book://{id}", audience = "user")]
        async fn book(&self, id: u64) -> String {
            id.to_string()
        }
    }

    #[derive(Resource)]
    #[resource(uri = "config://{name}", crate = inner::rt, meta = { "a": 1 }, size)]
    pub(super) struct Config {
        pub(super) name: String,
        #[resource(text)]
        pub(super) text: String,
    }

    pub(super) fn server() -> inner::rt::Server {
        inner::rt::Server::new("test", "1")
            .tools(tools![add])
            .prompts(prompts![greet])
            .resources(resources![note])
            .resource(Config { name: "app".into(), text: "dark".into() })
            .mount(Notebook)
    }
}

#[tokio::test]
async fn crate_key_names_a_renamed_crate() {
    let client = connect(renamed::server()).await;
    assert_eq!(client.call("add", json!({"a": 1})).await.unwrap().text(), "3");
    assert_eq!(client.get_prompt("greet", json!({"name": "you"})).await.unwrap().text(), "you");
    assert_eq!(client.read("note://7").await.unwrap().text(), "7");
    assert_eq!(client.read("book://7").await.unwrap().text(), "7");
    assert_eq!(client.read("config://app").await.unwrap().text(), "dark");
    assert!(!client.call("search", json!({})).await.unwrap().is_error());
    assert_eq!(renamed::add(1, 2), 3);
    assert_eq!(renamed::greet("you".into()).await, "you");
    assert_eq!(renamed::note(1), "1");
}

#[tokio::test]
async fn handlers_can_stand_in_a_function_body() {
    mod inner {
        pub(super) use mcp_runtime as rt;
    }

    /// Local.
    #[tool]
    fn local(a: i64) -> i64 {
        a
    }

    #[tool(crate = inner::rt)]
    async fn renamed() -> &'static str {
        "renamed"
    }

    #[derive(Resource)]
    #[resource(uri = "config://app")]
    struct Config {
        #[resource(text)]
        text: &'static str,
    }

    struct State(i64);

    #[handlers]
    impl State {
        #[tool]
        fn state(&self) -> i64 {
            self.0
        }
    }

    let server =
        Server::new("test", "1").tools(tools![local, renamed]).resource(Config { text: "dark" }).mount(State(5));
    let client = connect(server).await;
    assert_eq!(client.call("local", json!({"a": 1})).await.unwrap().text(), "1");
    assert_eq!(client.call("renamed", json!({})).await.unwrap().text(), "renamed");
    assert_eq!(client.call("state", json!({})).await.unwrap().text(), "5");
    assert_eq!(client.read("config://app").await.unwrap().text(), "dark");
    assert_eq!(local(1), 1);
}

mod text {
    use mcp_runtime::prelude::*;

    /// Count words.
    #[tool]
    pub(crate) fn count(text: String) -> usize {
        text.split_whitespace().count()
    }

    #[tool]
    pub(super) async fn upper(text: String) -> String {
        text.to_uppercase()
    }

    #[tool]
    pub(in crate::places) fn lower(text: String) -> String {
        text.to_lowercase()
    }

    #[tool]
    fn private() {}

    pub(crate) fn tools() -> [Tool; 4] {
        tools![count, upper, lower, self::private]
    }

    pub(crate) mod deeper {
        #[mcp_runtime::tool]
        pub(crate) fn qualified(a: u8) -> u8 {
            a
        }
    }
}

#[tokio::test]
async fn import_of_a_function_imports_its_registration() {
    use text::count;
    use text::deeper::qualified as another_name;

    assert_eq!(count("a b".into()), 2);
    assert_eq!(another_name(1), 1);
    let tools = tools![count, text::lower, text::upper, another_name, crate::places::text::deeper::qualified,];
    let names: Vec<&str> = tools.iter().map(Tool::name).collect();
    assert_eq!(names, ["count", "lower", "upper", "qualified", "qualified"]);
    let client = client(text::tools()).await;
    assert_eq!(client.call("count", json!({"text": "a b c"})).await.unwrap().text(), "3");
    assert_eq!(client.call("upper", json!({"text": "a"})).await.unwrap().text(), "A");
}

#[tokio::test]
async fn annotated_functions_stay_callable() {
    assert_eq!(text::upper("a".into()).await, "A");
    let function: fn(String) -> usize = text::count;
    assert_eq!(["a b", "c"].map(str::to_owned).map(function), [2, 1]);
    let empty: [Tool; 0] = tools![];
    assert!(empty.is_empty());
}

/// A tool changes its argument.
#[tool]
fn push(mut list: Vec<u8>, mut text: String) -> String {
    list.push(1);
    text.push('!');
    format!("{list:?} {text}")
}

#[tokio::test]
async fn arguments_can_be_mutable() {
    assert_eq!(push(vec![0], "a".into()), "[0, 1] a!");
    let client = client(tools![push]).await;
    assert_eq!(client.call("push", json!({"list": [], "text": "b"})).await.unwrap().text(), "[1] b!");
}

#[tool]
#[deprecated = "still registered"]
fn old() {}

#[tool]
fn tool() -> &'static str {
    "a tool called tool"
}

#[tokio::test]
async fn deprecated_and_macro_like_names_work() {
    let client = client(tools![old, tool]).await;
    assert_eq!(client.call("tool", json!({})).await.unwrap().text(), "a tool called tool");
}

/// Everything of the item comes from the macro's caller, or nothing, or some of it.
mod made {
    use mcp_runtime::prelude::*;

    macro_rules! convert {
        ($name:ident, $from:ty => $to:ty, $text:literal) => {
            #[doc = $text]
            #[tool(title = $text)]
            pub(super) fn $name(value: $from) -> $to {
                <$to>::from(value)
            }
        };
    }

    convert!(widen, u8 => u64, "Widen a byte.");
    convert!(maybe, u8 => Option<u8>, "Wrap a byte.");

    macro_rules! plain {
        ($name:ident($($arg:ident: $ty:ty = $default:expr),*) -> $out:ty $body:block) => {
            #[tool]
            pub(super) async fn $name(ctx: &Context, $(#[arg(default = $default)] $arg: $ty),*) -> $out {
                let _ = ctx;
                $body
            }
        };
    }

    plain!(sum(a: i64 = 1, b: i64 = 2 + 3) -> i64 { a + b });

    macro_rules! fixed {
        () => {
            #[tool]
            pub(super) fn constant(a: i64, #[arg(default = 5)] b: i64, ctx: &Context) -> i64 {
                let _ = ctx;
                a + b
            }
        };
    }

    fixed!();

    macro_rules! whole {
        ($($item:item)*) => { $($item)* };
    }

    whole! {
        /// Passed through.
        #[tool]
        pub(super) fn passed(a: i64) -> Result<i64> {
            Ok(a)
        }
    }

    macro_rules! resource_at {
        ($uri:literal, $name:ident, $mime:literal) => {
            #[resource($uri, mime = $mime)]
            pub(super) fn $name(id: u64) -> String {
                id.to_string()
            }
        };
    }

    resource_at!("made://{id}", made, "text/plain");

    macro_rules! takes {
        ($name:ident, $ctx:ty) => {
            #[tool]
            pub(super) fn $name(ctx: $ctx) -> String {
                ctx.request_id().to_owned()
            }
        };
    }

    takes!(by_type, &Context);

    macro_rules! state {
        ($state:ident, $ty:ty, $method:ident) => {
            pub(super) struct $state(pub(super) $ty);

            #[handlers]
            impl $state {
                /// Made by a macro.
                #[tool]
                fn $method(&self, other: $ty, #[arg(default = <$ty>::default())] more: $ty) -> $ty {
                    self.0 + other + more
                }

                #[tool]
                async fn get(&self) -> $ty {
                    self.0
                }
            }
        };
    }

    state!(Adder, i64, plus);

    macro_rules! config {
        ($name:ident, $uri:literal, $field:ident: $ty:ty) => {
            #[derive(Resource)]
            #[resource(uri = $uri)]
            pub(super) struct $name {
                #[resource(text)]
                pub(super) $field: $ty,
            }
        };
    }

    config!(Theme, "theme://{color}", color: &'static str);
}

#[tokio::test]
async fn handlers_can_be_made_by_macro_rules() {
    let tools = tools![made::widen, made::maybe, made::sum, made::constant, made::passed, made::by_type];
    assert_eq!(tools[0].descriptor().description.as_deref(), Some("Widen a byte."));
    assert_eq!(tools[0].descriptor().title.as_deref(), Some("Widen a byte."));
    assert_eq!(tools[2].descriptor().input_schema["properties"]["b"]["default"], 5);
    let server = Server::new("test", "1")
        .tools(tools)
        .resources(resources![made::made])
        .resource(made::Theme { color: "dark" })
        .mount(made::Adder(10));
    let client = connect(server).await;
    let call = async |name: &str, arguments: serde_json::Value| client.call(name, arguments).await.unwrap().text();
    assert_eq!(call("widen", json!({"value": 5})).await, "5");
    assert_eq!(call("maybe", json!({"value": 5})).await, "5");
    assert_eq!(call("sum", json!({"a": 5})).await, "10");
    assert_eq!(call("constant", json!({"a": 5})).await, "10");
    assert_eq!(call("passed", json!({"a": 5})).await, "5");
    assert!(!call("by_type", json!({})).await.is_empty());
    assert_eq!(call("plus", json!({"other": 5})).await, "15");
    assert_eq!(call("get", json!({})).await, "10");
    assert_eq!(client.read("made://7").await.unwrap().contents()[0].mime_type.as_deref(), Some("text/plain"));
    assert_eq!(client.read("theme://dark").await.unwrap().text(), "dark");
}
