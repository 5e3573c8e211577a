//! Handlers that ask the client, and calls that become tasks.

mod asking;
mod layers;
mod tasks;
