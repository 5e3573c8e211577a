#[handlers]
impl Notebook {
    /// Find notes by their text.
    #[tool(timeout = "30s")]
    async fn search(&self, ctx: &Context, query: String, limit: Option<u32>) -> Result<Json<Vec<Hit>>> {
        self.db.search(&query, limit, ctx).await
    }

    /// Compress the database.
    #[cfg(feature = "compact")]
    #[tool(destructive, blocking)]
    fn compact(&self) -> Result<()> {
        self.db.compact()
    }

    /// Ask for a review of a note.
    #[prompt]
    async fn review(&self, title: String) -> String {
        format!("Review the note {title}.")
    }

    fn helper(&self) {}
}

// ---- becomes ----

impl Notebook {
    /// Find notes by their text.
    #[allow(clippy::needless_pass_by_value)]
    async fn search(
        &self,
        ctx: &Context,
        query: String,
        limit: Option<u32>,
    ) -> Result<Json<Vec<Hit>>> {
        self.db.search(&query, limit, ctx).await
    }
    /// Compress the database.
    #[cfg(feature = "compact")]
    #[allow(clippy::needless_pass_by_value)]
    fn compact(&self) -> Result<()> {
        self.db.compact()
    }
    /// Ask for a review of a note.
    #[allow(clippy::needless_pass_by_value)]
    async fn review(&self, title: String) -> String {
        format!("Review the note {title}.")
    }
    fn helper(&self) {}
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
                .tool({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::tool("search");
                    __builder.description("Find notes by their text.");
                    __builder.timeout_ms(30000u64);
                    __builder.takes_context();
                    let __arg1 = __builder.arg::<String>(__mcp::ArgInfo::new("query"));
                    let __arg2 = __builder
                        .arg::<Option<u32>>(__mcp::ArgInfo::new("limit"));
                    let __returns = __mcp::tool_returns::<
                        Result<Json<Vec<Hit>>>,
                    >(&mut __builder);
                    __builder
                        .future(
                            __returns,
                            move |__args, __invocation| {
                                let __this = ::core::clone::Clone::clone(&__this);
                                let __value0 = __mcp::extract::<Context>(__invocation);
                                let __value1 = __args.take(&__arg1)?;
                                let __value2 = __args.take(&__arg2)?;
                                ::core::result::Result::Ok(async move {
                                    Self::search(&__this, &__value0, __value1, __value2).await
                                })
                            },
                        )
                });
            #[cfg(feature = "compact")]
            let __handlers = __handlers
                .tool({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::tool("compact");
                    __builder.description("Compress the database.");
                    __builder.destructive(true);
                    let __returns = __mcp::tool_returns::<Result<()>>(&mut __builder);
                    __builder
                        .blocking(
                            __returns,
                            move |__args, __invocation| {
                                let __this = ::core::clone::Clone::clone(&__this);
                                ::core::result::Result::Ok(move || Self::compact(&__this))
                            },
                        )
                });
            let __handlers = __handlers
                .prompt({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::prompt("review");
                    __builder.description("Ask for a review of a note.");
                    let __arg0 = __builder.arg::<String>(__mcp::ArgInfo::new("title"));
                    let __returns = __mcp::prompt_returns::<String>(&mut __builder);
                    __builder
                        .future(
                            __returns,
                            move |__args, __invocation| {
                                let __this = ::core::clone::Clone::clone(&__this);
                                let __value0 = __args.take(&__arg0)?;
                                ::core::result::Result::Ok(async move {
                                    Self::review(&__this, __value0).await
                                })
                            },
                        )
                });
            __handlers
        }
    }
};
