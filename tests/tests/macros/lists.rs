//! `tools![]` and its siblings: every way to name a function, in every place where a name may be hidden.

use mcp_runtime::prelude::*;

mod text {
    use mcp_runtime::prelude::*;

    #[tool]
    pub(crate) fn count(text: String) -> usize {
        text.len()
    }

    /// Says that it is the wrong one.
    #[tool]
    pub(crate) fn hidden() -> &'static str {
        "of the module"
    }

    pub(crate) mod deeper {
        use mcp_runtime::prelude::*;

        #[prompt]
        pub(crate) fn ask() -> String {
            String::new()
        }

        pub(crate) fn tools() -> [Tool; 3] {
            tools![super::count, super::super::text::hidden, crate::lists::text::count]
        }
    }
}

#[resource("docs://manual")]
fn manual() -> &'static str {
    "# Manual"
}

// The names of a crate, a type (which needs an `item`), a function of the prelude, a macro, an attribute.
#[tool]
fn serde() {}
#[tool(item = u8_tool)]
fn u8() {}
#[tool]
fn drop() {}
#[tool]
fn vec() {}
#[tool]
fn inline() {}
#[tool]
fn cfg() {}
#[tool]
fn r#type() {}

/// Hidden by the tools in the tests below.
#[tool]
fn hidden() -> &'static str {
    "of the file"
}

fn names<const N: usize>(tools: [Tool; N]) -> [String; N] {
    tools.map(|tool| tool.name().to_owned())
}

#[test]
fn a_path_may_begin_anywhere() {
    assert_eq!(names(text::deeper::tools()), ["count", "hidden", "count"]);
    assert_eq!(names(tools![self::hidden, self::text::hidden, text::count,]), ["hidden", "hidden", "count"]);
    let [ask] = prompts![text::deeper::ask];
    let [manual] = resources![self::manual];
    assert_eq!((ask.name(), manual.uri()), ("ask", "docs://manual"));
}

#[test]
fn names_with_another_meaning_are_listed() {
    let all = ["serde", "u8", "drop", "vec", "inline", "cfg", "type"];
    assert_eq!(names(tools![serde, u8_tool, drop, vec, inline, cfg, r#type]), all);
    let all_by_path = tools![self::serde, self::u8_tool, self::drop, self::vec, self::inline, self::cfg, self::r#type];
    assert_eq!(names(all_by_path), all);
}

#[tokio::test]
async fn the_innermost_function_of_a_name_is_listed() {
    #[tool]
    fn hidden() -> &'static str {
        "of the test"
    }

    let count = 1;
    let text = "a variable";
    let client = crate::client(tools![hidden]).await;
    assert_eq!(client.call("hidden", json!({})).await.unwrap().text(), "of the test");
    {
        use text::hidden;
        let client = crate::client(tools![hidden, text::count]).await;
        assert_eq!(client.call("hidden", json!({})).await.unwrap().text(), "of the module");
        assert_eq!(client.call("count", json!({"text": text})).await.unwrap().text(), "10");
    }
    assert_eq!(count, 1);
}

#[test]
fn an_entry_may_have_cfg() {
    assert_eq!(
        names(tools![
            self::hidden,
            #[cfg(not(test))]
            missing,
            #[cfg(test)]
            text::count
        ]),
        ["hidden", "count"]
    );
    assert_eq!(
        names(tools![
            #[cfg(not(test))]
            missing
        ]),
        [""; 0]
    );
}

#[test]
fn lists_can_be_empty() {
    assert_eq!((tools![].len(), prompts![].len(), resources![].len()), (0, 0, 0));
}

#[test]
fn lists_can_be_made_by_macros() {
    macro_rules! listed {
        ($($ident:ident)* ; $($path:path)* ; $($ty:ty)* ; $($expr:expr),* ; $($tokens:tt)*) => {
            tools![$($ident,)* $($path,)* $($ty,)* $($expr,)* $($tokens)*]
        };
    }
    let listed = listed!(vec; text::count u8_tool; text::hidden serde; text::count, drop; text::hidden, cfg);
    assert_eq!(names(listed), ["vec", "count", "u8", "hidden", "serde", "count", "drop", "hidden", "cfg"]);
}

#[test]
fn lists_are_ordinary_expressions() {
    const fn none() -> [Tool; 0] {
        tools![]
    }
    let mut seen = Vec::new();
    for tool in tools![text::count, text::hidden] {
        seen.push(tool.name().to_owned());
    }
    let later = || tools![text::count].map(|tool| tool.name().to_owned());
    let [first] = match tools![text::count] {
        [tool] => later().map(|name| name + tool.name()),
    };
    assert_eq!((seen.len(), first.as_str(), none().len()), (2, "countcount", 0));
}
