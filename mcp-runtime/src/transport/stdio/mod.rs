//! The stdio transport: one message per line, answers written where they are made.
//!
//! One thread reads, runs what is quick and writes its answers, many per write when many messages
//! came at once; that is one context switch per call, the least there can be. Answers of calls
//! that had to wait reach the client through an outbox and a second thread, so that a client
//! that does not read holds up neither the runtime nor its memory.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>

mod claim;
pub(super) mod lines;

use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::Dispatch;
use tracing::dispatcher::set_default;

use super::signals;
use super::stdio::lines::{Line, Lines};
use crate::call::control::ConnectionControl;
use crate::call::outbox::Outbox;
use crate::dispatch::connection::{Connection, Exited};
use crate::era::encode;
use crate::error::{Result, ServerError};
use crate::jsonrpc::Id;
use crate::jsonrpc::error::RpcError;
use crate::protocol::Implementation;
use crate::server::Server;
use crate::server::core::Core;
use crate::server::hooks::{DisconnectReason, Hooks};
use crate::server::state::Phase;
use crate::sync::lock;

/// A batch of answers is written when it is this long, even if there are more messages to take.
const BATCH_BYTES: usize = 64 * 1024;
/// The least time the client has to read its last answers, even if no call is waited for.
const WRITING: Duration = Duration::from_secs(1);

/// What the outbox is told last: an answer is never empty.
const END: Vec<u8> = Vec::new();

impl Server {
    /// Serves one client over standard input and output until it closes them.
    ///
    /// From here on the process's own standard output leads to standard error, so that a stray
    /// `println!` cannot break the stream. Runs inside a Tokio runtime with its timers enabled, as
    /// under `#[tokio::main]`; calls in flight are finished before it returns.
    ///
    /// SIGTERM and Ctrl-C end it the same way, a second one at once; [`disable_signals`](Self::disable_signals)
    /// leaves them to the program.
    ///
    /// If the future is dropped, as by a `select!` that takes another branch, it ends at once: whoever wants
    /// calls to finish [closes](ServerHandle::shutdown) the server first.
    pub async fn serve_stdio(self) -> Result<(), ServerError> {
        hint_at_terminal(&self.info);
        if !self.signals_disabled {
            signals::end_on_signal(&self.shared)?;
        }
        let (input, output) = claim::standard_streams()?;
        serve(self.into_core(), input, output).await
    }
}

/// Serves one client until its input ends or the server is told to end, and its calls are done. If
/// the future is dropped, it is not served any more.
///
/// In a task: whoever serves may come to wait for the end in other ways than by this future, which is
/// then polled no more, as in a branch of `select!` that closes the server.
pub(crate) async fn serve<R, W>(core: Arc<Core>, input: R, output: W) -> Result<(), ServerError>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let serving = core.shared.serving();
    let says = core.shared.catalog().settings.forwards_logs.then(dispatch);
    let mut task = AbortOnDrop(tokio::spawn(async move {
        let _serving = serving;
        converse(core, says, input, output).await
    }));
    match (&mut task.0).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ServerError::internal("the runtime was shut down while the server was served")),
        },
    }
}

fn dispatch() -> Dispatch {
    tracing::dispatcher::get_default(Dispatch::clone)
}

/// Stops a task nobody waits for any more.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn converse<R, W>(core: Arc<Core>, says: Option<Dispatch>, input: R, output: W) -> Result<(), ServerError>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let runtime = Handle::current();
    let output = Arc::new(Output(Mutex::new(Some(output))));
    let (outbox, answers) = Outbox::shared();
    let last = outbox.sender().clone();
    let (limit, grace) = (core.limits.message_bytes, core.limits.drain_timeout);
    let mut connection = Connection::new(Arc::clone(&core), runtime.clone());
    let end = End { control: Arc::clone(connection.control()), last, output: Arc::clone(&output) };

    let writer = spawn("mcp-outbox", {
        let output = Arc::clone(&output);
        move || empty(answers, &output)
    })?;
    let mut reader = spawn("mcp-stdio", move || {
        let _in_runtime = runtime.enter();
        // What handlers say here is heard by who listens where the server is served.
        let _says = says.as_ref().map(set_default);
        let read = read(&mut connection, Lines::new(input, limit), &outbox, &output);
        (connection, read)
    })?;

    let (connection, read) = tokio::select! {
        done = &mut reader => {
            let (connection, read) = done.map_err(|_| ServerError::internal("the thread that reads messages stopped"))?;
            (Some(connection), read)
        }
        // The reader may be waiting for a message that never comes; it is let go.
        () = core.shared.reaches(Phase::Draining) => (None, Ok(())),
    };
    let let_go = connection.is_none();
    if !let_go {
        // Nobody is left to answer.
        end.control.asks.close();
    }
    let exited = connection.as_ref().and_then(Connection::exited);
    let dropped = match exited {
        // Who tells the server to exit does not wait for answers.
        Some(_) => drop_all(&end.control),
        None => tokio::select! {
            dropped = end.control.drain(grace) => dropped,
            () = core.shared.reaches(Phase::Aborted) => drop_all(&end.control),
            () = told_to_exit(&mut reader), if let_go => drop_all(&end.control),
        },
    };
    // Where the client is gone, nobody can come for them.
    let draining = core.shared.phase() == Phase::Draining;
    core.tasks.end(if draining { grace } else { Duration::ZERO }).await;
    // A client that sends nothing and reads nothing, however long, is gone, too.
    let written = tokio::time::timeout(grace.max(WRITING), async {
        for id in dropped {
            let _ = end.last.send(given_up(&id)).await;
        }
        // Behind everything else there is to write.
        let _ = end.last.send(END).await;
        writer.await
    });
    let written = match written.await {
        Ok(written) => written.map_err(|_| ServerError::internal("the thread that writes answers stopped"))?,
        Err(_) => Ok(()),
    };
    drop(end);
    let told = core.shared.phase() > Phase::Running || exited.is_some();
    ended(&core.hooks, told, read, written)?;
    match exited {
        Some(Exited { announced: false }) => Err(ServerError::internal("the client sent `exit` without `shutdown`")),
        _ => Ok(()),
    }
}

/// Ends a connection at once: nobody is owed anything any more.
fn drop_all(control: &ConnectionControl) -> Vec<Box<str>> {
    control.abort();
    Vec::new()
}

/// The answer to a call that was not done in time.
fn given_up(id: &str) -> Vec<u8> {
    let error = RpcError::new(RpcError::INTERNAL, "The server has ended before the call was done");
    let mut line = Vec::new();
    encode::error(Id::new_unchecked(id), &error, &mut line);
    line
}

/// Waits until the client says `exit`; for ever, if the reader ends in another way.
async fn told_to_exit(reader: &mut oneshot::Receiver<(Connection, io::Result<()>)>) {
    let done = reader.await;
    if !done.as_ref().is_ok_and(|(connection, _)| connection.exited().is_some()) {
        // Its calls go on; they are the connection's.
        std::future::pending::<()>().await;
    }
}

/// Ends a connection, as it should or because nobody serves it any more: nothing is begun or written
/// from then on, and the client sees it.
struct End<W: Write> {
    control: Arc<ConnectionControl>,
    last: mpsc::Sender<Vec<u8>>,
    output: Arc<Output<W>>,
}

impl<W: Write> Drop for End<W> {
    fn drop(&mut self) {
        self.control.abort();
        // If it is full, the writer is waiting for a client nobody waits for.
        let _ = self.last.try_send(END);
        self.output.close();
    }
}

/// Tells the server's author how a connection ended. A client that closed its end is gone, which is
/// how every connection ends.
fn ended(hooks: &Hooks, told: bool, read: io::Result<()>, written: io::Result<()>) -> Result<(), ServerError> {
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
                _ if told => DisconnectReason::Shutdown,
                Ok(()) => DisconnectReason::Eof,
                Err(_) => DisconnectReason::ClientClosed,
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
    outbox: &Outbox,
    output: &Output<impl Write>,
) -> io::Result<()> {
    let control = Arc::clone(connection.control());
    let mut at_work = None;
    let mut batch = Vec::new();
    loop {
        match lines.next() {
            Line::Message(frame) => connection.receive(frame, outbox, &mut batch),
            Line::TooLong(beginning) => connection.refuse_oversized(beginning, &mut batch),
            Line::NoMore => {
                flush(&mut batch, output)?;
                drop(at_work.take());
                if lines.fill()? == 0 {
                    return Ok(());
                }
                at_work = Some(control.at_work());
                if control.has_ended() {
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
            return Err(io::Error::other(format!("{} messages in a row were none", connection.consecutive_errors())));
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
        let mut output = lock(&self.0);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc as channel;

    use super::*;
    use crate::server::Server;

    /// What a client sends, until the sender is dropped.
    struct Input(channel::Receiver<Vec<u8>>);

    impl Read for Input {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.recv().unwrap_or_default();
            out[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    /// What a client receives.
    struct Output(channel::Sender<Vec<u8>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn client() -> (channel::Sender<Vec<u8>>, Input, Output, channel::Receiver<Vec<u8>>) {
        let (send, input) = channel::channel();
        let (output, receive) = channel::channel();
        (send, Input(input), Output(output), receive)
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(10), future).await.expect("this takes too long")
    }

    #[tokio::test]
    async fn closing_does_not_need_whoever_serves() {
        let server = Server::new("test", "1.0.0");
        let handle = server.handle();
        let (_send, input, output, _receive) = client();
        let mut serving = std::pin::pin!(serve(server.into_core(), input, output));
        tokio::select! {
            _ = &mut serving => panic!("nobody has ended it"),
            () = tokio::time::sleep(Duration::from_millis(10)) => soon(handle.shutdown()).await,
        }
        soon(serving).await.unwrap();
    }

    #[tokio::test]
    async fn a_client_sees_that_it_is_not_served_any_more() {
        let server = Server::new("test", "1.0.0");
        let handle = server.handle();
        let (_send, input, output, receive) = client();
        let serving = serve(server.into_core(), input, output);
        assert!(tokio::time::timeout(Duration::from_millis(10), serving).await.is_err());
        soon(handle.shutdown()).await;
        let end = tokio::task::spawn_blocking(move || receive.recv_timeout(Duration::from_secs(5)));
        assert_eq!(end.await.unwrap(), Err(channel::RecvTimeoutError::Disconnected));
    }
}
