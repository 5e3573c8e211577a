//! Binds the listener's address, and explains why that failed: the address, what holds it, what to do next.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};

use super::holder::{self, Holder};

/// Listens on the first of the addresses that is free.
pub(super) async fn bind(address: impl ToSocketAddrs) -> Result<TcpListener> {
    let addresses = lookup_host(address).await.map_err(|error| unresolved(error.kind(), &error.to_string()))?;
    bind_first(addresses.collect()).await
}

async fn bind_first(addresses: Vec<SocketAddr>) -> Result<TcpListener> {
    let mut failures = Vec::new();
    let mut kind = ErrorKind::InvalidInput;
    for address in addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => {
                kind = error.kind();
                failures.push(explain(address, &error));
            }
        }
    }
    if failures.is_empty() {
        return Err(unresolved(kind, "no address"));
    }
    Err(Error::new(kind, failures.join("\n")))
}

/// The error for something that is not an address. It is not named: only its type is known here.
fn unresolved(kind: ErrorKind, why: &str) -> Error {
    Error::new(kind, format!("cannot listen: {why}; give the address as host and port, like 127.0.0.1:8080"))
}

fn explain(address: SocketAddr, error: &Error) -> String {
    let why = match error.kind() {
        ErrorKind::AddrInUse => format!("{}; stop it, or choose another port", in_use(address)),
        ErrorKind::AddrNotAvailable => "this machine does not have that address; use 127.0.0.1 for clients on this \
                                        machine, or 0.0.0.0 for clients on any network"
            .to_owned(),
        ErrorKind::PermissionDenied if address.port() < 1024 => {
            format!("only privileged processes may use port {}; choose one from 1024 on", address.port())
        }
        _ => error.to_string(),
    };
    format!("cannot listen on {address}: {why}")
}

fn in_use(address: SocketAddr) -> String {
    match holder::of(address) {
        Some(Holder { id, .. }) if id == std::process::id() => "this process listens there already".to_owned(),
        Some(Holder { id, name }) => format!("process {id} ({name}) listens there already"),
        None if cfg!(unix) => format!("a process listens there already (`lsof -i :{}` may name it)", address.port()),
        None => "a process listens there already".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ports_are_explained() {
        let denied = Error::from(ErrorKind::PermissionDenied);
        let text = explain(SocketAddr::from(([127, 0, 0, 1], 80)), &denied);
        assert_eq!(
            text,
            "cannot listen on 127.0.0.1:80: only privileged processes may use port 80; choose one from 1024 on"
        );
        let text = explain(SocketAddr::from(([127, 0, 0, 1], 8080)), &denied);
        assert_eq!(text, format!("cannot listen on 127.0.0.1:8080: {denied}"));
    }
}
