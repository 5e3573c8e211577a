/// One note.
#[resource("note://{id}", mime = "text/markdown", audience = ["user", "assistant"], priority = 0.5)]
async fn note(id: u64) -> Option<String> {
    NOTES.get(&id).cloned()
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// One note.
async fn note(id: u64) -> Option<String> {
    NOTES.get(&id).cloned()
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
struct note {}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::ResourceFn for note {
        #[allow(
            unused_mut,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn resource() -> __mcp::Resource {
            let mut __builder = __mcp::resource("note://{id}", "note");
            __builder.description("One note.");
            __builder.mime("text/markdown");
            __builder.audience(&[__mcp::Role::User, __mcp::Role::Assistant]);
            __builder.priority(0.5f64);
            let __arg0 = __builder.arg::<u64>(__mcp::ArgInfo::new("id"));
            let __returns = __mcp::resource_returns::<Option<String>>(&mut __builder);
            __builder
                .future(
                    __returns,
                    move |__args, __invocation| {
                        let __value0 = __args.take(&__arg0)?;
                        ::core::result::Result::Ok(async move { note(__value0).await })
                    },
                )
        }
    }
};
