//! JSON Schema: generated from types, shown to clients, and enforced.

pub(crate) mod choices;
pub(crate) mod coerce;
pub(crate) mod format;
pub(crate) mod input;
pub(crate) mod instance;
mod keywords;
pub(crate) mod probe;
mod sample;
mod tidy;
pub(crate) mod validator;
