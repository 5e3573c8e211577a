//! Where the keys of an issuer come from: given, or fetched when they are needed and kept as long as the issuer says.

pub(crate) mod discovery;
pub(crate) mod proxy;
pub(crate) mod schedule;
pub(crate) mod source;

#[cfg(test)]
mod tests;
