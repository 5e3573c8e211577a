//! A look at a form when the handler that asks for it is described: sooner than when somebody is asked.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::JsonSchema;

use super::Form;

/// A type the body of a handler asks for. It has two methods called `check`, and the compiler takes
/// the first that fits: its own if there is a schema, otherwise the one of what it derefs to.
pub struct FormCheck<T>(PhantomData<T>);

/// A type without a schema: where it is asked for, the compiler says so, and once is enough.
#[derive(Debug)]
pub struct NoSchema;

/// The type that is named in a body.
pub fn check_form<T>() -> FormCheck<T> {
    FormCheck(PhantomData)
}

/// The type that is taken apart in a body: that of the parameter.
pub fn check_form_of<T>(_: fn(T)) -> FormCheck<T> {
    FormCheck(PhantomData)
}

#[expect(clippy::unused_self, reason = "which `check` it is, is found by the type of the receiver")]
impl<T: JsonSchema> FormCheck<T> {
    /// Panics if nobody can be asked for a `T`.
    #[track_caller]
    pub fn check(&self, handler: &str) {
        if let Err(why) = Form::of::<T>() {
            panic!("{handler}: {why}");
        }
    }
}

#[expect(clippy::unused_self, reason = "as above")]
impl NoSchema {
    /// Does nothing.
    pub fn check(&self, _handler: &str) {}
}

impl<T> Deref for FormCheck<T> {
    type Target = NoSchema;

    fn deref(&self) -> &NoSchema {
        &NoSchema
    }
}

impl<T> fmt::Debug for FormCheck<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormCheck")
    }
}
