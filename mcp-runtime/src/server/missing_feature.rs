//! Methods of [`Server`] whose feature is off: they exist so that the compile error names the feature.
//!
//! Their bounds never hold. A bound for all lifetimes is not checked where it is written, only where it is used.

use crate::server::Server;

/// The feature `http`; implemented for no type.
#[cfg(not(feature = "http"))]
#[diagnostic::on_unimplemented(
    message = "serving over HTTP needs the feature `http` of mcp-runtime",
    label = "needs the feature `http`",
    note = "in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"http\"] }}`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#a-feature-is-off"
)]
pub trait HttpFeature<'a> {
    /// What a method would return.
    type Output;
}

#[cfg(not(feature = "http"))]
impl Server {
    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn into_service(self) -> <Self as HttpFeature<'static>>::Output
    where
        for<'a> Self: HttpFeature<'a>,
    {
        unreachable!("no server has the feature")
    }

    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn http<O>(self, _options: O) -> <Self as HttpFeature<'static>>::Output
    where
        for<'a> Self: HttpFeature<'a>,
    {
        unreachable!("no server has the feature")
    }

    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn serve_http<A>(self, _address: A) -> <Self as HttpFeature<'static>>::Output
    where
        for<'a> Self: HttpFeature<'a>,
    {
        unreachable!("no server has the feature")
    }
}

/// The feature `tracing-layer`; implemented for no type.
#[cfg(not(feature = "tracing-layer"))]
#[diagnostic::on_unimplemented(
    message = "the `tracing` layer needs the feature `tracing-layer` of mcp-runtime",
    label = "needs the feature `tracing-layer`",
    note = "in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"tracing-layer\"] }}`",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#a-feature-is-off"
)]
pub trait TracingLayerFeature<'a> {
    /// What a method would return.
    type Output;
}

#[cfg(not(feature = "tracing-layer"))]
impl Server {
    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn tracing_layer(&self) -> <Self as TracingLayerFeature<'static>>::Output
    where
        for<'a> Self: TracingLayerFeature<'a>,
    {
        unreachable!("no server has the feature")
    }
}

/// The feature `cli`; implemented for no type.
#[cfg(not(feature = "cli"))]
#[diagnostic::on_unimplemented(
    message = "a server's own command line needs the feature `cli` of mcp-runtime",
    label = "needs the feature `cli`",
    note = "in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"cli\"] }}`; `serve_stdio` needs no feature",
    note = "see https://docs.rs/mcp-runtime/latest/mcp_runtime/errors/index.html#a-feature-is-off"
)]
pub trait CliFeature<'a> {
    /// What a method would return.
    type Output;
}

#[cfg(not(feature = "cli"))]
impl Server {
    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn run(self) -> <Self as CliFeature<'static>>::Output
    where
        for<'a> Self: CliFeature<'a>,
    {
        unreachable!("no server has the feature")
    }

    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn run_with<A>(self, _arguments: A) -> <Self as CliFeature<'static>>::Output
    where
        for<'a> Self: CliFeature<'a>,
    {
        unreachable!("no server has the feature")
    }
}
