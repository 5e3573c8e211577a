//! Generated code does not depend on what a name means in its surroundings.
#![allow(dead_code, non_camel_case_types, reason = "names are the point here")]
#![allow(clippy::unnecessary_wraps, clippy::unused_async, clippy::unused_self, reason = "and bodies are not")]

/// Return types that are called `Result` and are not ours.
mod io_result {
    use std::io::Result;

    use mcp_runtime::{handlers, prompt, prompts, resource, resources, tool, tools};

    #[tool]
    fn read(path: String) -> Result<String> {
        std::fs::read_to_string(path)
    }

    #[tool]
    async fn later() -> Result<()> {
        Ok(())
    }

    #[prompt]
    fn ask() -> Result<String> {
        Ok("?".into())
    }

    #[resource("file:///{+path}")]
    fn file(path: String) -> Result<Vec<u8>> {
        std::fs::read(path)
    }

    struct Disk;

    #[handlers]
    impl Disk {
        #[tool]
        fn size(&self, path: String) -> Result<u64> {
            Ok(std::fs::metadata(path)?.len())
        }
    }

    #[test]
    fn compiles() {
        let server = mcp_runtime::Server::new("test", "1").tools(tools![read, later]).prompts(prompts![ask]);
        drop(server.resources(resources![file]).mount(Disk));
    }
}

/// Every name of the prelude means something else.
mod shadowed {
    use ::mcp_runtime::{Resource, handlers, prompt, prompts, resource, resources, tool, tools};

    mod mcp_runtime {}
    mod core {}
    mod std {}
    mod alloc {}
    mod serde_json {}
    mod schemars {}

    struct Option;
    struct Some;
    struct None;
    struct Result;
    struct Ok;
    struct Err;
    struct String;
    struct Vec;
    struct Box;
    struct Arc;
    struct Tool;
    struct Prompt;
    struct Handlers;
    struct Spec;
    struct Context;
    struct str;
    struct u64;
    trait Default {}
    trait From {}
    trait Into {}
    trait ToString {}
    trait Clone {}
    trait Send {}
    trait Sync {}
    trait Fn {}
    trait FnOnce {}
    trait Future {}
    trait Argument {}
    trait Iterator {}

    #[allow(unused_macros)]
    macro_rules! concat {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! format {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! include_str {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! json {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! stringify {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! unreachable {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }
    #[allow(unused_macros)]
    macro_rules! vec {
        ($($tokens:tt)*) => {
            compile_error!("this is not the macro you are looking for")
        };
    }

    const fn drop() {}

    type Text = ::std::string::String;

    /// Two lines,
    /// one description.
    #[tool(meta = { "a": [1, { "b": null }] }, read_only)]
    fn add(
        /// A number.
        a: i64,
        #[arg(default = 5)] b: i64,
        #[arg(default = "x")] c: Text,
        #[arg(default)] d: ::std::option::Option<i32>,
        ctx: &::mcp_runtime::Context,
    ) -> ::std::result::Result<Text, ::std::fmt::Error> {
        ::std::result::Result::Ok(::std::format!("{a}{b}{c}{d:?}{}", ctx.request_id()))
    }

    #[tool(blocking, timeout = "5s")]
    fn block(text: Text) -> Text {
        text
    }

    #[prompt]
    async fn ask(#[arg(complete = texts)] text: Text) -> Text {
        text
    }

    fn texts(_: &::std::primitive::str, _: &::mcp_runtime::protocol::CompletionContext) -> ::std::vec::Vec<Text> {
        ::std::vec::Vec::new()
    }

    #[resource("note://{id}", audience = "user")]
    async fn note(id: i64) -> ::std::option::Option<Text> {
        drop();
        ::std::option::Option::Some(::std::string::ToString::to_string(&id))
    }

    struct State;

    #[handlers]
    impl State {
        #[tool]
        fn method(&self, a: i64, ctx: &::mcp_runtime::Context) -> i64 {
            let _ = ctx;
            a
        }

        #[tool]
        async fn later(&self, a: i64) -> i64 {
            a
        }

        #[tool(blocking)]
        fn blocking(&self, a: i64) -> i64 {
            a
        }

        #[tool]
        fn associated() {}

        #[prompt]
        fn question(&self, #[arg(complete = Self::texts)] text: Text) -> Text {
            text
        }

        async fn texts(&self, _: &::std::primitive::str) -> ::std::vec::Vec<Text> {
            ::std::vec::Vec::new()
        }
    }

    #[derive(Resource)]
    #[resource(uri = "config://{name}", title = "{name}", meta = { "a": 1 }, size)]
    struct Config {
        name: Text,
        #[resource(text)]
        text: Text,
        #[resource(last_modified)]
        changed: Text,
    }

    #[derive(::serde::Serialize, Resource)]
    #[resource(uri = "whole://config")]
    struct Whole {
        name: Text,
    }

    #[test]
    fn compiles() {
        let text = || Text::from("text");
        let server = ::mcp_runtime::Server::new("test", "1")
            .tools(tools![add, block])
            .prompts(prompts![ask])
            .resources(resources![note])
            .resource(Config { name: text(), text: text(), changed: text() })
            .resource(Whole { name: text() })
            .mount(State);
        ::std::mem::drop(server);
    }
}

/// What a body asks for may have a name that means something only in there, or only there something else.
mod asking {
    use mcp_runtime::ask::AskError;
    use mcp_runtime::{Context, Result, handlers, tool, tools};
    use schemars::JsonSchema;
    use serde::Deserialize;

    /// Means something else in the bodies below, and is no form.
    #[derive(Deserialize, JsonSchema)]
    enum Name {
        Short(Vec<u8>),
    }

    mod forms {
        #[derive(super::Deserialize, super::JsonSchema)]
        pub(super) struct Name {
            pub(super) name: String,
        }
    }

    #[derive(Deserialize, JsonSchema)]
    struct Pair<T> {
        one: T,
    }

    #[tool]
    async fn declared(ctx: &Context) -> Result<String> {
        #[derive(Deserialize, JsonSchema)]
        struct Name {
            name: String,
        }
        let Name { name } = ctx.elicit("Who?").await?;
        Ok(name)
    }

    #[tool]
    async fn imported(ctx: &Context) -> Result<String> {
        use forms::Name;
        let name: Name = ctx.elicit("Who?").await?;
        Ok(name.name)
    }

    #[tool]
    async fn imported_with_others(ctx: &Context) -> Result<String> {
        use forms::*;
        Ok(ctx.elicit::<Name>("Who?").await?.name)
    }

    #[tool]
    async fn not_compiled(ctx: &Context) -> Result<String> {
        #[cfg(any())]
        let missing: Missing = ctx.elicit("Who?").await?;
        Ok(ctx.request_id().to_owned())
    }

    #[tool]
    async fn inferred(ctx: &Context) -> Result<u8> {
        let Pair::<u8> { one } = ctx.elicit("One?").await?;
        let pair: Pair<_> = ctx.elicit("One?").await?;
        Ok(one + std::convert::identity::<u8>(pair.one))
    }

    struct Asker<'a>(&'a Context);

    impl Asker<'_> {
        async fn elicit<T: for<'de> Deserialize<'de> + JsonSchema + 'static>(&self, text: &str) -> Result<T, AskError> {
            Ok(self.0.elicit::<Pair<T>>(text).await?.one)
        }
    }

    #[tool]
    async fn another_context(ctx: &Context) -> Result<String> {
        let ctx = Asker(ctx);
        let age: u8 = ctx.elicit("How old?").await?;
        Ok(format!("{} {age}", ctx.elicit::<String>("Who?").await?))
    }

    struct State;

    #[handlers]
    impl State {
        #[tool]
        async fn not_ours(&self, ctx: &Context) -> Result<String> {
            let asker = Asker(ctx);
            let name: String = ctx.elicit::<forms::Name>("Who?").await?.name;
            let declined: bool = ctx.elicit::<forms::Name>("Who?").await.is_err();
            Ok(format!("{name} {declined} {}", asker.elicit::<u8>("How old?").await?))
        }
    }

    #[test]
    fn compiles() {
        drop(tools![declared, imported, imported_with_others, not_compiled, inferred, another_context]);
        drop(mcp_runtime::Server::new("test", "1").mount(State));
    }
}

/// Functions with the names of what the runtime offers, and arguments with those of what is printed.
mod same_names {
    use mcp_runtime::{tool, tools};

    #[tool]
    fn tool(__spec: i64, __args: i64, __caller: i64, __this: i64, __arg0: i64, __value0: i64) -> i64 {
        __spec + __args + __caller + __this + __arg0 + __value0
    }

    #[tool]
    async fn tools(__returns: i64, __handlers: i64) -> i64 {
        __returns + __handlers
    }

    #[tool]
    fn main() {}

    #[test]
    fn compiles() {
        drop(tools![tool, tools, main]);
    }
}
