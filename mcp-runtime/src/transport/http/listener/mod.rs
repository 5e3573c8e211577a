//! A listener of our own: connections, and their end.

pub(super) mod connection_limit;
pub(super) mod write_timeout;

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::HttpService;
use super::listener::connection_limit::{ConnectionLimit, Slot};
use super::listener::write_timeout::WriteTimeout;
use crate::error::{Result, ServerError};
use crate::server::state::Phase;

/// Where the endpoint is, unless it was said.
const PATH: &str = "/mcp";

/// Accepts connections until the server is told to end; then those there are have time to finish.
pub(super) async fn listen(service: HttpService, listener: TcpListener) -> Result<(), ServerError> {
    let core = Arc::clone(&service.0.core);
    let _serving = core.shared.serving();
    let mut seats = ConnectionLimit::new(core.limits.connections, core.limits.request_timeout);
    let ending = core.shared.reaches(Phase::Draining);
    let mut ending = std::pin::pin!(ending);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = seats.look_in_time() => continue,
            () = &mut ending => break,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::select! {
                    () = seats.room() => {}
                    () = &mut ending => break,
                }
                seats.take(|seat| serve(service.clone(), stream, seat));
            }
            // Too many open files, or a client that was gone before it was there: neither is the end.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                seats.ask_to_leave();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    seats.dismiss();
    let all = async {
        let answered = async {
            seats.empty().await;
            service.0.sessions.at_rest().await;
        };
        tokio::join!(answered, core.tasks.running.at_most(0));
    };
    tokio::select! {
        _ = tokio::time::timeout(core.limits.drain_timeout, all) => {}
        () = core.shared.reaches(Phase::Aborted) => {}
    }
    core.tasks.end(Duration::ZERO).await;
    // Somebody else may have the service, too, and with it what still runs.
    service.0.sessions.end_all();
    Ok(())
}

async fn serve(service: HttpService, stream: TcpStream, seat: Slot) {
    // An answer is one write; nothing is gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let limits = &service.0.core.limits;
    let mut builder = http1::Builder::new();
    // Whoever gave the seat looks after that.
    builder.header_read_timeout(None);
    let Slot { wait, leave } = seat;
    let respond = service_fn(|request| service.respond(request, Some(PATH), wait.busy()));
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.write_timeout, Arc::clone(&wait)));
    let mut connection = std::pin::pin!(builder.serve_connection(stream, respond));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        // No other request is waited for.
        Ok(notice) = leave => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                // Half a request, perhaps; if it is whole, it is served.
                Ok(()) = notice => if wait.is_busy() { connection.await } else { return },
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
