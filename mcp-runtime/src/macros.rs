//! `tools![]`, `prompts![]`, `resources![]`: collect annotated functions by name.

/// Collects functions annotated with [`#[tool]`](macro@crate::tool) into a `[Tool; N]`, in this order.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// mod text {
///     use mcp_runtime::prelude::*;
///
///     /// Count the words of a text.
///     #[tool(read_only)]
///     pub fn count(text: String) -> usize {
///         text.split_whitespace().count()
///     }
/// }
///
/// let [count] = tools![text::count];
/// assert_eq!(count.name(), "count");
/// ```
///
/// An entry may have `#[cfg(…)]`.
#[macro_export]
macro_rules! tools {
    ($($function:tt)*) => { $crate::__private::put_the_attribute_tool_on_the_function!($crate [$($function)*]) };
}

/// Collects functions annotated with [`#[prompt]`](macro@crate::prompt) into a `[Prompt; N]`, in this order.
#[macro_export]
macro_rules! prompts {
    ($($function:tt)*) => { $crate::__private::put_the_attribute_prompt_on_the_function!($crate [$($function)*]) };
}

/// Collects functions annotated with [`#[resource]`](macro@crate::resource) into a `[Resource; N]`, in this
/// order.
#[macro_export]
macro_rules! resources {
    ($($function:tt)*) => { $crate::__private::put_the_attribute_resource_on_the_function!($crate [$($function)*]) };
}

/// Exported as `testing::assert_contract!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_contract {
    ($server:expr $(,)?) => {
        $crate::__assert_contract!($server, $crate::testing::ContractOptions::new())
    };
    ($server:expr, $options:expr $(,)?) => {
        $crate::testing::__assert_contract(&$server, ::core::env!("CARGO_MANIFEST_DIR"), $options)
    };
}

/// `serde_json::json!`, which also works without the standard prelude.
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    ($($json:tt)*) => {{
        #[allow(unused_imports)]
        use ::core::convert::Into as _;
        $crate::__private::serde_json::json!($($json)*)
    }};
}
