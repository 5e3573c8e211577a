//! `tools![]`, `prompts![]`, `resources![]`: annotated functions, by name, as values.

/// The tools of these functions, as a `[Tool; N]`, in this order.
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
/// "Expected type, found function" is what rustc says of a function without `#[tool]`.
#[macro_export]
macro_rules! tools {
    ($($function:ty),* $(,)?) => { [$(<$function as $crate::__private::ToolFn>::tool()),*] };
}

/// The prompts of these functions, as a `[Prompt; N]`, in this order.
#[macro_export]
macro_rules! prompts {
    ($($function:ty),* $(,)?) => { [$(<$function as $crate::__private::PromptFn>::prompt()),*] };
}

/// The resources of these functions, as a `[Resource; N]`, in this order.
#[macro_export]
macro_rules! resources {
    ($($function:ty),* $(,)?) => { [$(<$function as $crate::__private::ResourceFn>::resource()),*] };
}

/// `serde_json::json!`, for code without the standard prelude, too.
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    ($($json:tt)*) => {{
        #[allow(unused_imports)]
        use ::core::convert::Into as _;
        $crate::__private::serde_json::json!($($json)*)
    }};
}
