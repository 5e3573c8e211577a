//! Generated code compiles wherever a handler may stand. `strict_lints` is the same for lints, in a crate of its own.
//! Cargo compiles these rather than trybuild, so that clippy sees them as well.

mod names;
mod prelude;
