/// Rename a note, after asking for the name.
#[tool(requires(elicitation, roots), task = "required", asks_first)]
async fn rename(ctx: &Context, id: u64) -> Result<String> {
    let name: Name = ctx.elicit("Which name?").await?;
    Ok(name.name)
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// Rename a note, after asking for the name.
async fn rename(ctx: &Context, id: u64) -> Result<String> {
    let name: Name = ctx.elicit("Which name?").await?;
    Ok(name.name)
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
struct rename {}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::ToolFn for rename {
        #[allow(
            unused_mut,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn tool() -> __mcp::Tool {
            let mut __spec = __mcp::tool("rename");
            __spec.description("Rename a note, after asking for the name.");
            __spec.task(true, true);
            __spec.requires(__mcp::Capability::Elicitation);
            __spec.requires(__mcp::Capability::Roots);
            __spec.takes_context();
            let __arg1 = __spec.arg::<u64>(__mcp::ArgInfo::new("id"));
            let __returns = __mcp::tool_returns::<Result<String>>(&mut __spec);
            __spec
                .future(
                    __returns,
                    move |__args, __caller| {
                        let __value0 = __mcp::provide::<Context>(__caller);
                        let __value1 = __args.take(&__arg1)?;
                        ::core::result::Result::Ok(async move {
                            rename(&__value0, __value1).await
                        })
                    },
                )
        }
    }
};
