//! The same tool on our framework over HTTP, for callers with a token: `ours-auth bearer TOKEN ADDRESS`, or
//! `ours-auth jwt KEYS ADDRESS`.
#![forbid(unsafe_code)]

use std::{env, io, process, thread};

use mcp_runtime::{auth::Auth, prelude::*};

/// What the driver mints tokens for.
const ISSUER: &str = "https://auth.example.com";
const RESOURCE: &str = "https://mcp.example.com/mcp";

/// Add two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    thread::spawn(end_with_the_driver);
    let mut arguments = env::args().skip(1);
    let mut next = |what| arguments.next().unwrap_or_else(|| panic!("{what} is missing"));
    let (kind, secret, address) = (next("`bearer` or `jwt`"), next("a token or the keys"), next("an address"));
    let auth = match kind.as_str() {
        "bearer" => Auth::bearer([("bench", secret)]),
        "jwt" => Auth::keys(secret).issuer(ISSUER),
        other => panic!("`{other}` is neither `bearer` nor `jwt`"),
    };
    let auth = auth.resource(RESOURCE).scopes(["bench"]);
    Server::new("bench", "1").tools(tools![add]).into_service().authorize(auth).serve(address).await
}

/// Every server here ends when its standard input does.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
