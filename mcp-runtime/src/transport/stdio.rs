//! The stdio transport: one message per line, answers written where they are made.
//!
//! One thread reads, runs what is quick and writes its answers, many per write when many messages
//! came at once; that is one context switch per call, the least there can be. Answers of calls
//! that had to wait reach the client through an outbox and a second thread, so that a client
//! that does not read holds up neither the runtime nor its memory.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>

use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::lines::{Line, Lines};
use crate::connection::{Connection, Lifecycle};
use crate::depth;
use crate::era::encode;
use crate::error::{Error, Result};
use crate::jsonrpc::{self, Rejection};
use crate::limits::Limits;
use crate::protocol::Implementation;
use crate::server::Core;

/// How many answers may wait for the client to read.
const OUTBOX: usize = 64;
/// A batch of answers is written when it is this long, even if there are more messages to take.
const BATCH_BYTES: usize = 64 * 1024;

/// Serves one client until its input ends and its calls are done.
pub(crate) async fn serve<R, W>(core: Arc<Core>, input: R, output: W) -> Result<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let runtime = Handle::current();
    let output = Arc::new(Mutex::new(output));
    let (outbox, answers) = mpsc::channel(OUTBOX);
    let Limits { message_bytes, depth, drain: grace, .. } = core.limits;
    let mut connection = Connection::new(core, runtime.clone(), outbox);

    let writer = spawn("mcp-outbox", {
        let output = Arc::clone(&output);
        move || empty(answers, &output)
    })?;
    let reader = spawn("mcp-stdio", move || {
        let _in_runtime = runtime.enter();
        let read = read(&mut connection, Lines::new(input, message_bytes), depth, &output);
        (connection, read)
    })?;

    let (connection, read) = reader.await.map_err(|_| Error::internal("the thread that reads messages stopped"))?;
    let lifecycle = connection.lifecycle();
    match lifecycle {
        // Who tells the server to exit does not wait for answers.
        Lifecycle::Exited { .. } => drop(connection),
        Lifecycle::Running | Lifecycle::ShuttingDown => connection.drain().await,
    }
    disconnected(read)?;
    // A client that sends nothing and reads nothing, however long, is gone, too.
    if let Ok(written) = tokio::time::timeout(grace, writer).await {
        disconnected(written.map_err(|_| Error::internal("the thread that writes answers stopped"))?)?;
    }
    match lifecycle {
        Lifecycle::Exited { announced: false } => Err(Error::internal("the client sent `exit` without `shutdown`")),
        _ => Ok(()),
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
    depth: usize,
    output: &Mutex<impl Write>,
) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        match lines.next() {
            Line::Message(frame) if depth::exceeds(frame, depth) => {
                if let Some(Rejection { id, error }) = jsonrpc::refuse_deep(frame, depth) {
                    encode::error(id, &error, &mut batch);
                }
            }
            Line::Message(frame) => connection.receive(frame, &mut batch),
            Line::TooLong(beginning) => connection.refuse_oversized(beginning, &mut batch),
            Line::NoMore => {
                flush(&mut batch, output)?;
                if lines.fill()? == 0 {
                    return Ok(());
                }
            }
        }
        let exited = matches!(connection.lifecycle(), Lifecycle::Exited { .. });
        if exited || batch.len() >= BATCH_BYTES {
            flush(&mut batch, output)?;
        }
        if exited {
            return Ok(());
        }
    }
}

/// Writes the answers of calls that had to wait, as many as there are at once.
fn empty(mut answers: mpsc::Receiver<Vec<u8>>, output: &Mutex<impl Write>) -> io::Result<()> {
    while let Some(mut batch) = answers.blocking_recv() {
        while batch.len() < BATCH_BYTES
            && let Ok(more) = answers.try_recv()
        {
            batch.extend_from_slice(&more);
        }
        flush(&mut batch, output)?;
    }
    Ok(())
}

fn flush(batch: &mut Vec<u8>, output: &Mutex<impl Write>) -> io::Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut output: MutexGuard<'_, _> = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.write_all(batch)?;
    output.flush()?;
    batch.clear();
    batch.shrink_to(BATCH_BYTES);
    Ok(())
}

/// A client that closed its end is gone, which is how every connection ends.
fn disconnected(end: io::Result<()>) -> Result<()> {
    match end {
        Err(error) if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            Err(error.into())
        }
        _ => Ok(()),
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
