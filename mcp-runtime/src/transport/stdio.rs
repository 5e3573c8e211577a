//! The stdio transport: one message per line, answers written where they are made.
//!
//! One thread reads, runs what is quick and writes its answers, many per write when many messages
//! came at once; that is one context switch per call, the least there can be. Answers of calls
//! that had to wait reach the client through an outbox and a second thread, so that a client
//! that does not read holds up neither the runtime nor its memory.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>

use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::lines::{Line, Lines};
use crate::connection::{Connection, Exited};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::hooks::{Disconnected, Hooks};
use crate::outlet::Outlet;
use crate::protocol::Implementation;
use crate::server::Core;
use crate::shared::Phase;

/// A batch of answers is written when it is this long, even if there are more messages to take.
const BATCH_BYTES: usize = 64 * 1024;

/// What the outbox is told last: an answer is never empty.
const END: Vec<u8> = Vec::new();

/// Serves one client until its input ends or the server is told to end, and its calls are done.
pub(crate) async fn serve<R, W>(core: Arc<Core>, input: R, output: W) -> Result<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let runtime = Handle::current();
    let _serving = core.shared.serving();
    let output = Arc::new(Output(Mutex::new(Some(output))));
    let (outlet, answers) = Outlet::shared();
    let last = outlet.sender().clone();
    let (limit, grace) = (core.limits.message_bytes, core.limits.drain);
    let mut connection = Connection::new(Arc::clone(&core), runtime.clone());
    let control = AbortOnDrop(Arc::clone(connection.control()));

    let writer = spawn("mcp-outbox", {
        let output = Arc::clone(&output);
        move || empty(answers, &output)
    })?;
    let mut reader = spawn("mcp-stdio", {
        let output = Arc::clone(&output);
        move || {
            let _in_runtime = runtime.enter();
            let read = read(&mut connection, Lines::new(input, limit), &outlet, &output);
            (connection, read)
        }
    })?;

    let (connection, read) = tokio::select! {
        done = &mut reader => {
            let (connection, read) = done.map_err(|_| Error::internal("the thread that reads messages stopped"))?;
            (Some(connection), read)
        }
        // The reader may be waiting for a message that never comes; it is let go.
        () = core.shared.reaches(Phase::Draining) => (None, Ok(())),
    };
    let exited = connection.as_ref().and_then(Connection::exited);
    match exited {
        // Who tells the server to exit does not wait for answers.
        Some(_) => control.0.abort(),
        None => tokio::select! {
            () = control.0.drain(grace) => {}
            () = core.shared.reaches(Phase::Aborted) => control.0.abort(),
        },
    }
    // A client that sends nothing and reads nothing, however long, is gone, too.
    let written = tokio::time::timeout(grace, async {
        // Behind everything else there is to write.
        let _ = last.send(END).await;
        writer.await
    });
    let written = match written.await {
        Ok(written) => written.map_err(|_| Error::internal("the thread that writes answers stopped"))?,
        Err(_) => Ok(()),
    };
    output.close();
    let told = core.shared.phase() > Phase::Running || exited.is_some();
    ended(&core.hooks, told, read, written)?;
    match exited {
        Some(Exited { announced: false }) => Err(Error::internal("the client sent `exit` without `shutdown`")),
        _ => Ok(()),
    }
}

/// Ends a connection nobody serves any more.
struct AbortOnDrop(Arc<Control>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells the server's author how a connection ended. A client that closed its end is gone, which is
/// how every connection ends.
fn ended(hooks: &Hooks, told: bool, read: io::Result<()>, written: io::Result<()>) -> Result<()> {
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
    match read.and(written) {
        Err(error) if !gone(&error) => {
            let error = Error::from(error);
            hooks.transport_error(&error);
            hooks.disconnected(&Disconnected::Error);
            Err(error)
        }
        end => {
            let reason = match end {
                _ if told => Disconnected::Shutdown,
                Ok(()) => Disconnected::Eof,
                Err(_) => Disconnected::ClientClosed,
            };
            hooks.disconnected(&reason);
            Ok(())
        }
    }
}

/// Runs `body` on a thread of its own; the receiver yields what it returns.
fn spawn<T: Send + 'static>(name: &str, body: impl FnOnce() -> T + Send + 'static) -> io::Result<oneshot::Receiver<T>> {
    let (done, result) = oneshot::channel();
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Nobody is listening if serving was cancelled.
        let _ = done.send(body());
    })?;
    Ok(result)
}

/// Takes messages until the input ends or the client says `exit`; what is answered at once is written in batches.
fn read(
    connection: &mut Connection,
    mut lines: Lines<impl Read>,
    outlet: &Outlet,
    output: &Output<impl Write>,
) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        match lines.next() {
            Line::Message(frame) => connection.receive(frame, outlet, &mut batch),
            Line::TooLong(beginning) => connection.refuse_oversized(beginning, &mut batch),
            Line::NoMore => {
                flush(&mut batch, output)?;
                if lines.fill()? == 0 || connection.control().has_ended() {
                    return Ok(());
                }
            }
        }
        let exited = connection.exited().is_some();
        if exited || batch.len() >= BATCH_BYTES {
            flush(&mut batch, output)?;
        }
        if exited {
            return Ok(());
        }
        if connection.talks_nonsense() {
            flush(&mut batch, output)?;
            return Err(io::Error::other(format!("{} messages in a row were none", connection.errors_in_a_row())));
        }
    }
}

/// Writes the answers of calls that had to wait, as many as there are at once.
fn empty(mut answers: mpsc::Receiver<Vec<u8>>, output: &Output<impl Write>) -> io::Result<()> {
    while let Some(mut batch) = answers.blocking_recv() {
        let mut last = batch.is_empty();
        while !last
            && batch.len() < BATCH_BYTES
            && let Ok(more) = answers.try_recv()
        {
            last = more.is_empty();
            batch.extend_from_slice(&more);
        }
        flush(&mut batch, output)?;
        if last {
            break;
        }
    }
    Ok(())
}

fn flush(batch: &mut Vec<u8>, output: &Output<impl Write>) -> io::Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    output.write(batch)?;
    batch.clear();
    batch.shrink_to(BATCH_BYTES);
    Ok(())
}

/// Where the two threads write, until nobody may any more.
struct Output<W>(Mutex<Option<W>>);

impl<W: Write> Output<W> {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let output = output.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        output.write_all(bytes)?;
        output.flush()
    }

    /// Lets go of the stream, unless somebody is still waiting for the client to read.
    fn close(&self) {
        if let Ok(mut output) = self.0.try_lock() {
            *output = None;
        }
    }
}

/// Tells a person who started the server by hand what they are looking at.
pub(crate) fn hint_at_terminal(info: &Implementation) {
    if !io::stdin().is_terminal() {
        return;
    }
    let program = std::env::current_exe().map_or_else(|_| info.name.clone(), |path| path.display().to_string());
    let Implementation { name, version, .. } = info;
    eprintln!(
        "{name} {version} is an MCP server: it speaks JSON-RPC on standard input and output, one message per line.\n\
         An MCP client starts it for you. In the client's configuration:\n\n\
         \x20   {{ \"mcpServers\": {{ {name:?}: {{ \"command\": {program:?} }} }} }}\n\n\
         To try it here, type a message, for example\n\n\
         \x20   {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n\n\
         and Ctrl-D to end."
    );
}
