/// Rename a note, after asking for the name.
#[tool(requires(elicitation, roots), task = "required", asks_first)]
async fn rename(ctx: &Context, id: u64) -> Result<String> {
    let name: Name = ctx.elicit("Which name?").await?;
    let Name { name } = ctx.elicit(format!("Really {}?", name.name)).await?;
    Ok(name)
}

#[handlers]
impl Notebook {
    /// Ask for two things at once; a type that is known only in here is not looked at.
    #[prompt(requires(sampling))]
    async fn both(&self, ctx: &Context) -> Result<String> {
        struct Inside {
            x: u8,
        }
        let (name, page) = join!(ctx.elicit::<forms::Name>("Who?"), ctx.elicit::<<Self as Pages>::Page>("Where?"));
        let Inside { x } = ctx.elicit("How many?").await?;
        Ok(format!("{} {} {x}", name?, page?))
    }
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// Rename a note, after asking for the name.
async fn rename(ctx: &Context, id: u64) -> Result<String> {
    let name: Name = ctx.elicit("Which name?").await?;
    let Name { name } = ctx.elicit(format!("Really {}?", name.name)).await?;
    Ok(name)
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
            let mut __builder = __mcp::tool("rename");
            __builder.description("Rename a note, after asking for the name.");
            __builder.task(true, true);
            __builder.requires(__mcp::ClientCapability::Elicitation);
            __builder.requires(__mcp::ClientCapability::Roots);
            __builder.takes_context();
            let __arg1 = __builder.arg::<u64>(__mcp::ArgInfo::new("id"));
            __builder.form(__mcp::check_form::<Name>().check());
            let __returns = __mcp::tool_returns::<Result<String>>(&mut __builder);
            __builder
                .future(
                    __returns,
                    move |__args, __invocation| {
                        let __value0 = __mcp::extract::<Context>(__invocation);
                        let __value1 = __args.take(&__arg1)?;
                        ::core::result::Result::Ok(async move {
                            rename(&__value0, __value1).await
                        })
                    },
                )
        }
    }
};
impl Notebook {
    /// Ask for two things at once; a type that is known only in here is not looked at.
    #[allow(clippy::needless_pass_by_value)]
    async fn both(&self, ctx: &Context) -> Result<String> {
        struct Inside {
            x: u8,
        }
        let (name, page) = join!(
            ctx.elicit::< forms::Name > ("Who?"), ctx.elicit::<< Self as Pages >::Page >
            ("Where?")
        );
        let Inside { x } = ctx.elicit("How many?").await?;
        Ok(format!("{} {} {x}", name ?, page ?))
    }
}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::MergeTheHandlersBlocks for Notebook {
        #[allow(
            unused_mut,
            unused_variables,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn handlers(__this: __mcp::Arc<Self>) -> __mcp::Handlers {
            let __handlers = __mcp::Handlers::new();
            let __handlers = __handlers
                .prompt({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::prompt("both");
                    __builder
                        .description(
                            "Ask for two things at once; a type that is known only in here is not looked at.",
                        );
                    __builder.requires(__mcp::ClientCapability::Sampling);
                    __builder.takes_context();
                    __builder.form(__mcp::check_form::<forms::Name>().check());
                    __builder.form(__mcp::check_form::<<Self as Pages>::Page>().check());
                    let __returns = __mcp::prompt_returns::<
                        Result<String>,
                    >(&mut __builder);
                    __builder
                        .future(
                            __returns,
                            move |__args, __invocation| {
                                let __this = ::core::clone::Clone::clone(&__this);
                                let __value0 = __mcp::extract::<Context>(__invocation);
                                ::core::result::Result::Ok(async move {
                                    Self::both(&__this, &__value0).await
                                })
                            },
                        )
                });
            __handlers
        }
    }
};
