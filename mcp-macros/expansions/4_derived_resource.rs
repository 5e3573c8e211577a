/// A page of the manual.
#[derive(Resource)]
#[resource(uri = "docs://{slug}", name = "page-{slug}", mime = "text/markdown", size)]
struct Page {
    slug: String,
    #[resource(last_modified)]
    changed: Timestamp,
    #[resource(text)]
    body: String,
}

// ---- becomes ----

const _: () = {
    use ::mcp_runtime::__private as __mcp;
    #[automatically_derived]
    impl ::core::convert::From<Page> for __mcp::Resource {
        #[allow(
            unused_mut,
            deprecated,
            clippy::absolute_paths,
            clippy::redundant_closure
        )]
        fn from(__value: Page) -> Self {
            let mut __builder = __mcp::resource(
                &{
                    let mut __text = ::std::string::String::new();
                    __text.push_str("docs://");
                    __mcp::expand_into(
                        &mut __text,
                        &__mcp::shown::<String>(&__value.slug),
                        false,
                    );
                    __text
                },
                &{
                    let mut __text = ::std::string::String::new();
                    __text.push_str("page-");
                    __text.push_str(&__mcp::shown::<String>(&__value.slug));
                    __text
                },
            );
            __builder.description(&"A page of the manual.");
            __builder.mime("text/markdown");
            __builder.last_modified(&__mcp::shown::<Timestamp>(&__value.changed));
            if let ::core::option::Option::Some(__size) = __mcp::size_of_contents(
                &__mcp::text_contents::<String>(&__value.body),
            ) {
                __builder.size(__size);
            }
            let __returns = __mcp::resource_returns(&mut __builder);
            __builder
                .sync(
                    __returns,
                    move |_, _| ::core::result::Result::Ok(
                        __mcp::text_contents::<String>(&__value.body),
                    ),
                )
        }
    }
};
