//! Tokens of others: minted by joserfc (`tests/tokens`), the examples of the RFCs, and random bytes.

pub(crate) mod minted;
mod properties;
mod vectors;
