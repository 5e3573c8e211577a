//! The scopes that a caller of a handler must have.

#[cfg(feature = "auth")]
use std::sync::Arc;

use super::builder::{HandlerBuilder, HandlerKind};
#[cfg(feature = "auth")]
use super::dynamic::{PromptBuilder, ResourceBuilder, ToolBuilder};

/// The scopes of a handler; none for most. Without the feature `auth` there are none.
#[derive(Debug, Default)]
pub(crate) struct HandlerScopes {
    #[cfg(feature = "auth")]
    all: Option<Arc<[Box<str>]>>,
}

#[cfg(not(feature = "auth"))]
impl HandlerScopes {
    #[expect(clippy::unused_self, reason = "as with the feature `auth`")]
    pub(crate) fn is_empty(&self) -> bool {
        true
    }
}

#[cfg(feature = "auth")]
impl HandlerScopes {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none()
    }

    pub(crate) fn all(&self) -> &[Box<str>] {
        self.all.as_deref().unwrap_or_default()
    }

    pub(crate) fn shared(&self) -> Option<&Arc<[Box<str>]>> {
        self.all.as_ref()
    }

    fn add(&mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Result<(), String> {
        let mut all = self.all().to_vec();
        for scope in scopes {
            let scope = scope.into().into_boxed_str();
            crate::auth::check_scope(&scope)?;
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        self.all = (!all.is_empty()).then(|| all.into());
        Ok(())
    }
}

#[cfg(feature = "auth")]
impl<K: HandlerKind> HandlerBuilder<K> {
    /// Adds scopes that a caller must have.
    pub fn scopes<S: Into<String>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        if let Err(problem) = self.scopes.add(scopes) {
            self.input.problem(problem);
        }
    }
}

/// The feature `auth`; implemented for no type.
#[cfg(not(feature = "auth"))]
#[diagnostic::on_unimplemented(
    message = "`scopes` needs the feature `auth` of mcp-runtime",
    label = "needs the feature `auth`",
    note = "in Cargo.toml: `mcp-runtime = {{ version = \"0.1\", features = [\"auth\"] }}`"
)]
pub trait AuthFeature<'a> {}

#[cfg(not(feature = "auth"))]
impl<K: HandlerKind> HandlerBuilder<K> {
    #[doc(hidden)]
    #[allow(missing_docs, clippy::unused_self)]
    pub fn scopes<const N: usize>(&mut self, _scopes: [&str; N])
    where
        for<'a> Self: AuthFeature<'a>,
    {
        unreachable!("no builder has the feature")
    }
}

#[cfg(feature = "auth")]
macro_rules! scopes_of {
    ($($builder:ty),*) => {$(
        impl $builder {
            /// Adds scopes that a caller must have. Requires the feature `auth`.
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
                self.builder.scopes(scopes);
                self
            }
        }
    )*};
}

#[cfg(feature = "auth")]
scopes_of!(ToolBuilder, PromptBuilder, ResourceBuilder);
