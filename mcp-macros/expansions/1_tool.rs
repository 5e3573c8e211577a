/// Add two integers.
#[tool(title = "Adder", read_only)]
pub fn add(
    a: i64,
    /// What to add.
    #[arg(default = 1)]
    b: i64,
) -> i64 {
    a + b
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// Add two integers.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}
#[doc(hidden)]
#[allow(
    dead_code,
    non_camel_case_types,
    missing_debug_implementations,
    missing_copy_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
pub struct add {}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::ToolFn for add {
        #[allow(
            unused_mut,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn tool() -> __mcp::Tool {
            let mut __builder = __mcp::tool("add");
            __builder.title("Adder");
            __builder.description("Add two integers.");
            __builder.read_only(true);
            let __arg0 = __builder.arg::<i64>(__mcp::ArgInfo::new("a"));
            let __arg1 = __builder
                .arg_or::<
                    i64,
                >(__mcp::ArgInfo::new("b").description("What to add."), || 1);
            let __returns = __mcp::tool_returns::<i64>(&mut __builder);
            __builder
                .sync(
                    __returns,
                    move |__args, __invocation| {
                        let __value0 = __args.take(&__arg0)?;
                        let __value1 = __args.take(&__arg1)?;
                        ::core::result::Result::Ok(add(__value0, __value1))
                    },
                )
        }
    }
};
