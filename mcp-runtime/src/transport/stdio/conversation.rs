//! One client on stdio, from its first line to its last: run, drain, flush.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tracing::Dispatch;
use tracing::dispatcher::set_default;

use super::lines::Lines;
use super::threads::{self, Output};
use crate::call::control::ConnectionControl;
use crate::call::outbox::{Outbox, Outgoing};
use crate::dispatch::connection::{Connection, Exited};
use crate::era::encode;
use crate::error::{Result, ServerError};
use crate::jsonrpc::Id;
use crate::limits::Limits;
use crate::outcome;
use crate::server::core::Core;
use crate::server::hooks::{DisconnectReason, Hooks};
use crate::server::state::Phase;

/// The least time the client has to read its last answers, even if no call is drained.
const MIN_FLUSH_TIME: Duration = Duration::from_secs(1);
/// The same for a client that has closed its end, and waits for the process to exit.
const MIN_FLUSH_TIME_AT_EOF: Duration = Duration::from_millis(400);

/// What the reader's thread returns: the connection, and how its input ended.
type ReaderResult = (Connection, io::Result<()>);

/// A client being served: the two threads, and how to end them.
pub(super) struct Conversation<W: Write> {
    core: Arc<Core>,
    reader: oneshot::Receiver<ReaderResult>,
    writer: oneshot::Receiver<io::Result<()>>,
    end: EndOnDrop<W>,
}

impl<W: Write + Send + 'static> Conversation<W> {
    /// Starts the reader and the writer.
    pub(super) fn start<R>(
        core: Arc<Core>,
        subscriber: Option<Dispatch>,
        input: R,
        output: W,
    ) -> Result<Self, ServerError>
    where
        R: Read + Send + 'static,
    {
        let runtime = Handle::current();
        let output = Arc::new(Output::new(output));
        let (outbox, messages) = Outbox::connection();
        #[cfg(feature = "auth")]
        let outbox = outbox.with_access(core.local_access.clone());
        let mut connection = Connection::new(Arc::clone(&core), runtime.clone());
        let end = EndOnDrop {
            control: Arc::clone(connection.control()),
            outbox: outbox.sender().clone(),
            output: Arc::clone(&output),
        };
        let writer = threads::spawn("mcp-outbox", {
            let output = Arc::clone(&output);
            move || threads::write(messages, &output)
        })?;
        let limit = core.limits.message_bytes;
        let reader = threads::spawn("mcp-stdio", move || {
            let _in_runtime = runtime.enter();
            let _subscriber = subscriber.as_ref().map(set_default);
            let read = threads::read(&mut connection, Lines::new(input, limit), &outbox, &output);
            (connection, read)
        })?;
        Ok(Conversation { core, reader, writer, end })
    }

    /// Serves until the input ends or the server shuts down; then drains and flushes.
    pub(super) async fn run(mut self) -> Result<(), ServerError> {
        let finished = tokio::select! {
            finished = &mut self.reader => {
                Some(finished.map_err(|_| ServerError::internal("the thread that reads messages stopped"))?)
            }
            // The reader may be blocked on input that never comes; it is abandoned.
            () = self.core.shared.reaches(Phase::Draining) => None,
        };
        if finished.is_some() {
            // No response of the client's can arrive any more.
            self.end.control.pending_requests.close();
        }
        let (connection, read) = finished.map_or((None, Ok(())), |(connection, read)| (Some(connection), read));
        let exited = connection.as_ref().and_then(Connection::exited);
        let at_eof = connection.is_some() && self.core.shared.phase() == Phase::Running;
        let grace = Grace::new(&self.core.limits, at_eof);
        let dropped = match exited {
            // A client that sends `exit` does not wait for answers.
            Some(_) => {
                self.end.control.abort();
                Vec::new()
            }
            None => self.drain(&grace, connection.is_none()).await,
        };
        self.end_tasks().await;
        let written = self.flush(grace.flush(), dropped).await?;
        let Conversation { core, end, .. } = self;
        drop(end);
        let shut_down = core.shared.phase() > Phase::Running || exited.is_some();
        report(&core.hooks, shut_down, read, written)?;
        match exited {
            Some(Exited { announced: false }) => {
                Err(ServerError::internal("the client sent `exit` without `shutdown`"))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the calls in flight, for as long as there is; returns the ids of those that are given up. While the reader
    /// still runs, the client may cut this short by `exit`.
    async fn drain(&mut self, grace: &Grace, reading: bool) -> Vec<Box<str>> {
        let control = &self.end.control;
        tokio::select! {
            dropped = control.drain(grace.drain, grace.eof.is_some()) => dropped,
            () = self.core.shared.reaches(Phase::Aborted) => {
                control.drop_calls().await;
                Vec::new()
            }
            () = exit_received(&mut self.reader), if reading => {
                control.abort();
                Vec::new()
            }
        }
    }

    /// Ends the tasks that run here; at once if the client is gone, since it cannot ask for them.
    async fn end_tasks(&self) {
        let draining = self.core.shared.phase() == Phase::Draining;
        let grace = if draining { self.core.limits.drain_timeout } else { Duration::ZERO };
        self.core.tasks.end(grace).await;
    }

    /// Writes what is in the outbox, and an error for each call that was given up. Stops waiting for a client
    /// that does not read within `limit`.
    async fn flush(&mut self, limit: Duration, dropped: Vec<Box<str>>) -> Result<io::Result<()>, ServerError> {
        let (outbox, writer) = (&self.end.outbox, &mut self.writer);
        let written = tokio::time::timeout(limit, async {
            for id in dropped {
                let _ = outbox.send(Outgoing::Answer(given_up(&id))).await;
            }
            let _ = outbox.send(Outgoing::End).await;
            writer.await
        });
        match written.await {
            Ok(written) => written.map_err(|_| ServerError::internal("the thread that writes answers stopped")),
            Err(_) => Ok(Ok(())),
        }
    }
}

/// How long the end of a conversation may take: at the end of input `eof_timeout` for everything, in a shutdown
/// `drain_timeout` for the calls and again for the client to read.
struct Grace {
    drain: Duration,
    /// When the end of input was seen.
    eof: Option<Instant>,
}

impl Grace {
    fn new(limits: &Limits, at_eof: bool) -> Self {
        if at_eof {
            Grace { drain: limits.eof_timeout, eof: Some(Instant::now()) }
        } else {
            Grace { drain: limits.drain_timeout, eof: None }
        }
    }

    /// The time that is left for the last answers.
    fn flush(&self) -> Duration {
        match self.eof {
            Some(eof) => self.drain.saturating_sub(eof.elapsed()).max(MIN_FLUSH_TIME_AT_EOF),
            None => self.drain.max(MIN_FLUSH_TIME),
        }
    }
}

/// The answer to a call that was not over in time.
fn given_up(id: &str) -> Vec<u8> {
    let mut line = Vec::new();
    encode::error(Id::new_unchecked(id), &outcome::shut_down(), &mut line);
    line
}

/// Waits until the client sends `exit`; forever, if the reader ends in another way.
async fn exit_received(reader: &mut oneshot::Receiver<ReaderResult>) {
    let finished = reader.await;
    if !finished.as_ref().is_ok_and(|(connection, _)| connection.exited().is_some()) {
        // Its calls go on; `finished` keeps their connection.
        std::future::pending::<()>().await;
    }
}

/// Ends a connection when dropped, in order or because its future was: nothing begins or is written from
/// then on, and the client sees its input closed.
struct EndOnDrop<W: Write> {
    control: Arc<ConnectionControl>,
    outbox: mpsc::Sender<Outgoing>,
    output: Arc<Output<W>>,
}

impl<W: Write> Drop for EndOnDrop<W> {
    fn drop(&mut self) {
        self.control.abort();
        // If the outbox is full, the writer is blocked by a client that is not waited for.
        let _ = self.outbox.try_send(Outgoing::End);
        self.output.close();
    }
}

/// Calls the hooks with the reason a connection ended. A client that closed its end is not an error.
fn report(hooks: &Hooks, shut_down: bool, read: io::Result<()>, written: io::Result<()>) -> Result<(), ServerError> {
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
    match read.and(written) {
        Err(error) if !gone(&error) => {
            let error = ServerError::from(error);
            hooks.transport_error(&error);
            hooks.disconnected(&DisconnectReason::Error);
            Err(error)
        }
        end => {
            let reason = match end {
                _ if shut_down => DisconnectReason::Shutdown,
                Ok(()) => DisconnectReason::Eof,
                Err(_) => DisconnectReason::ClientClosed,
            };
            hooks.disconnected(&reason);
            Ok(())
        }
    }
}
