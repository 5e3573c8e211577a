#[handlers]
impl App {
    /// The theme.
    #[tool]
    fn theme(&self) -> &str {
        &self.theme
    }

    #[resource("config://all")]
    async fn all(&self) -> Json<&Config> {
        Json(&self.config)
    }
}

// ---- becomes ----

impl App {
    /// The theme.
    #[allow(clippy::needless_pass_by_value)]
    fn theme(&self) -> &str {
        &self.theme
    }
    #[allow(clippy::needless_pass_by_value)]
    async fn all(&self) -> Json<&Config> {
        Json(&self.config)
    }
}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::MergeTheHandlersBlocks for App {
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
                    let mut __builder = __mcp::tool("theme");
                    __builder.description("The theme.");
                    let __returns = __mcp::tool_returns::<&str>(&mut __builder);
                    __builder
                        .sync_borrowed(move |__args, __invocation, __info| {
                            ::core::result::Result::Ok(
                                __mcp::tool_return_type::<&str>()
                                    .convert(Self::theme(&__this), &__info),
                            )
                        })
                });
            let __handlers = __handlers
                .resource({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::resource("config://all", "all");
                    let __returns = __mcp::resource_returns::<
                        Json<&Config>,
                    >(&mut __builder);
                    __builder
                        .future_borrowed(move |__args, __invocation, __info| {
                            let __this = ::core::clone::Clone::clone(&__this);
                            ::core::result::Result::Ok(async move {
                                __mcp::resource_return_type::<Json<&Config>>()
                                    .convert(Self::all(&__this).await, &__info)
                            })
                        })
                });
            __handlers
        }
    }
};
