/// Add two numbers.
#[tool]
const fn add(a: i64, #[cfg_attr(feature = "strict", arg(min = 1), allow(unused))] b: i64) -> i64 {
    a + b
}

#[handlers]
impl<S: Store> App<S> {
    #[cfg_attr(feature = "admin", tool(destructive))]
    fn delete(self: Arc<Self>, #[cfg_attr(feature = "admin", arg(flatten))] Key { id }: Key) {
        self.store.delete(id);
    }
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// Add two numbers.
const fn add(a: i64, #[cfg_attr(feature = "strict", allow(unused))] b: i64) -> i64 {
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
struct add {}
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
            #[cfg(feature = "strict")]
            {
                let mut __builder = __mcp::tool("add");
                __builder.description("Add two numbers.");
                let __arg0 = __builder.arg::<i64>(__mcp::ArgInfo::new("a"));
                let __arg1 = __builder
                    .arg::<i64>(__mcp::ArgInfo::new("b").keyword("minimum", 1i64));
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
            #[cfg(not(feature = "strict"))]
            {
                let mut __builder = __mcp::tool("add");
                __builder.description("Add two numbers.");
                let __arg0 = __builder.arg::<i64>(__mcp::ArgInfo::new("a"));
                let __arg1 = __builder.arg::<i64>(__mcp::ArgInfo::new("b"));
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
    }
};
impl<S: Store> App<S> {
    #[allow(clippy::needless_pass_by_value)]
    fn delete(self: Arc<Self>, Key { id }: Key) {
        self.store.delete(id);
    }
}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl<S: Store> __mcp::MergeTheHandlersBlocks for App<S>
    where
        Self: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        #[allow(
            unused_mut,
            unused_variables,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn handlers(__this: __mcp::Arc<Self>) -> __mcp::Handlers {
            let __handlers = __mcp::Handlers::new();
            #[cfg(feature = "admin")]
            let __handlers = __handlers
                .tool({
                    let __this = ::core::clone::Clone::clone(&__this);
                    let mut __builder = __mcp::tool("delete");
                    __builder.destructive(true);
                    let __arg0 = __builder.flatten::<Key>();
                    let __returns = __mcp::tool_returns::<()>(&mut __builder);
                    __builder
                        .sync(
                            __returns,
                            move |__args, __invocation| {
                                let __value0 = __args.take(&__arg0)?;
                                ::core::result::Result::Ok(
                                    Self::delete(::core::clone::Clone::clone(&__this), __value0),
                                )
                            },
                        )
                });
            __handlers
        }
    }
};
