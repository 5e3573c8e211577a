//! The same tool on our framework over HTTP, written the way its README does.
#![forbid(unsafe_code)]

use std::{env, io, process, thread};

use mcp_runtime::prelude::*;

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    thread::spawn(end_with_the_driver);
    let address = env::args().nth(1).expect("the address to listen on");
    Server::new("bench", "1").tools(tools![add]).serve_http(address).await
}

/// Every server here ends when its standard input does.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
