/// Ask for a review of code.
#[prompt]
fn review(language: Language, #[arg(complete = frameworks)] framework: Option<String>) -> String {
    format!("Review this {language} code, which uses {framework:?}.")
}

#[handlers]
impl Notebook {
    /// Ask for a summary of a note.
    #[prompt]
    fn summary(#[arg(complete = Self::titles)] title: String) -> String {
        format!("Summarise {title}.")
    }
}

// ---- becomes ----

#[allow(clippy::needless_pass_by_value)]
/// Ask for a review of code.
fn review(language: Language, framework: Option<String>) -> String {
    format!("Review this {language} code, which uses {framework:?}.")
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
struct review {}
const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl __mcp::PromptFn for review {
        #[allow(
            unused_mut,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn prompt() -> __mcp::Prompt {
            let mut __builder = __mcp::prompt("review");
            __builder.description("Ask for a review of code.");
            let __arg0 = __builder.arg::<Language>(__mcp::ArgInfo::new("language"));
            let __arg1 = __builder
                .arg::<Option<String>>(__mcp::ArgInfo::new("framework"));
            __builder.complete("framework", __mcp::Arc::new(()), frameworks);
            let __returns = __mcp::prompt_returns::<String>(&mut __builder);
            __builder
                .sync(
                    __returns,
                    move |__args, __invocation| {
                        let __value0 = __args.take(&__arg0)?;
                        let __value1 = __args.take(&__arg1)?;
                        ::core::result::Result::Ok(review(__value0, __value1))
                    },
                )
        }
    }
};
impl Notebook {
    /// Ask for a summary of a note.
    #[allow(clippy::needless_pass_by_value)]
    fn summary(title: String) -> String {
        format!("Summarise {title}.")
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
                    let mut __builder = __mcp::prompt("summary");
                    __builder.description("Ask for a summary of a note.");
                    let __arg0 = __builder.arg::<String>(__mcp::ArgInfo::new("title"));
                    __builder
                        .complete(
                            "title",
                            ::core::clone::Clone::clone(&__this),
                            Self::titles,
                        );
                    let __returns = __mcp::prompt_returns::<String>(&mut __builder);
                    __builder
                        .sync(
                            __returns,
                            move |__args, __invocation| {
                                let __value0 = __args.take(&__arg0)?;
                                ::core::result::Result::Ok(Self::summary(__value0))
                            },
                        )
                });
            __handlers
        }
    }
};
