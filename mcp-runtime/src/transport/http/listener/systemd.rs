//! Socket activation: systemd binds the sockets of a service, and hands them over when it starts it.
//!
//! A descriptor that is inherited is a number, which only unsafe code can turn into a socket; this crate has none. So the
//! crate `listenfd` does it, which also checks that the descriptors are for this process, and what kind they are.
//! <https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html>

use listenfd::ListenFd;

use super::socket::{Accept as _, Sockets};
use crate::error::{PAGE, Result, ServerError};

impl Sockets {
    /// The sockets that systemd has bound for this service (`LISTEN_FDS`), TCP and Unix, in the order of the unit.
    /// Requires the feature `systemd`.
    ///
    /// They are bound before the service starts and stay so while it restarts: clients that connect meanwhile wait. A
    /// socket on a port below 1024 needs no privilege of the service.
    ///
    /// ```no_run
    /// use mcp_runtime::http::Sockets;
    /// use mcp_runtime::prelude::*;
    ///
    /// # async fn serve(server: Server) -> Result<(), ServerError> {
    /// server.into_service().serve_on(Sockets::from_systemd()?).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there are none, or one is neither a TCP nor a Unix socket that listens.
    pub fn from_systemd() -> Result<Self, ServerError> {
        let mut descriptors = ListenFd::from_env();
        let mut sockets = Sockets::default();
        for index in 0..descriptors.len() {
            sockets = take(&mut descriptors, index, sockets)?;
        }
        if sockets.is_empty() {
            return Err(ServerError::msg(format!(
                "systemd has passed no sockets to this process: start it by its socket unit, or with \
                 `systemd-socket-activate -l 127.0.0.1:8080 PROGRAM`; see {PAGE}#no-socket-from-systemd"
            )));
        }
        Ok(sockets)
    }
}

fn take(descriptors: &mut ListenFd, index: usize, sockets: Sockets) -> Result<Sockets, ServerError> {
    if let Ok(Some(listener)) = descriptors.take_tcp_listener(index) {
        listens(index, &listener)?;
        listener.set_nonblocking(true)?;
        return Ok(sockets.tcp(tokio::net::TcpListener::from_std(listener)?));
    }
    #[cfg(unix)]
    if let Ok(Some(listener)) = descriptors.take_unix_listener(index) {
        listens(index, &listener)?;
        listener.set_nonblocking(true)?;
        return Ok(sockets.unix(tokio::net::UnixListener::from_std(listener)?));
    }
    Err(ServerError::msg(format!(
        "socket {index} of systemd is neither a TCP nor a Unix stream socket: use `ListenStream=`"
    )))
}

/// Fails for a connection: a unit with `Accept=yes` has each accepted by systemd, and starts a process for it.
#[cfg(target_os = "linux")]
fn listens(index: usize, socket: &impl std::os::fd::AsFd) -> Result<(), ServerError> {
    if rustix::net::sockopt::socket_acceptconn(socket).map_err(std::io::Error::from)? {
        return Ok(());
    }
    Err(ServerError::msg(format!(
        "socket {index} of systemd is a connection, not one that listens: set `Accept=no` in the unit"
    )))
}

/// systemd runs on Linux only, and other kernels cannot all be asked.
#[cfg(not(target_os = "linux"))]
fn listens<S>(_: usize, _: &S) -> Result<(), ServerError> {
    Ok(())
}
