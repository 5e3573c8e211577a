//! Servers over stdio, as whole processes.

mod abuse;
mod pictures;
mod process;
mod readme;
mod signals;
