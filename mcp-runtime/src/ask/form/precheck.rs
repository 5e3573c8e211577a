//! Checks a form when its handler is registered, before it is first asked for.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::JsonSchema;

use super::Form;

/// A type that the body of a handler asks for. It has two methods called `check`: its own, if the type has a
/// schema, or else that of [`NoSchema`], found by auto-deref.
pub struct FormCheck<T>(PhantomData<T>);

/// A type without a schema. The call of `elicit` is a compile error already, so this adds none.
#[derive(Debug)]
pub struct NoSchema;

/// Checks a type that the handler names.
pub fn check_form<T>() -> FormCheck<T> {
    FormCheck(PhantomData)
}

/// Checks a type that the handler destructures: the type of the parameter.
pub fn check_form_of<T>(_: fn(T)) -> FormCheck<T> {
    FormCheck(PhantomData)
}

#[expect(clippy::unused_self, reason = "the receiver's type selects the `check`")]
impl<T: JsonSchema> FormCheck<T> {
    /// Says why no form can ask for a `T`.
    pub fn check(&self) -> Option<String> {
        Form::of::<T>().err()
    }
}

#[expect(clippy::unused_self, reason = "as above")]
impl NoSchema {
    /// Finds nothing wrong.
    pub fn check(&self) -> Option<String> {
        None
    }
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
