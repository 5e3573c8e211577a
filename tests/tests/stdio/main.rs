//! Servers over stdio, as whole processes.

mod abuse;
mod process;
mod readme;
mod signals;
