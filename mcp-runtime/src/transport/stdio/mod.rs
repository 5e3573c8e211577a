//! The stdio transport: one message per line.
//!
//! One thread reads, polls each call once and writes the answers that are ready, many per write when many
//! messages arrived together. That is one context switch per call, as in a hand-written server; Tokio's own
//! standard input would add another. The thread has entered the runtime, so handlers can use timers, sockets
//! and `spawn` in their first poll. Answers of pending calls go through a bounded outbox to a second thread,
//! so that a client which does not read blocks neither the runtime nor fills its memory.
//!
//! Shutdown is decided outside of the reader, which may be blocked on input that never comes: the
//! conversation drains the calls, has the outbox written, and abandons the reader.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>

mod claim;
mod conversation;
mod lines;
#[cfg(unix)]
pub(super) mod log_pump;
mod threads;

use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Dispatch;

use self::conversation::Conversation;
use super::signals;
use crate::error::{Result, ServerError};
use crate::jsonrpc::raw::to_text;
use crate::protocol::Implementation;
use crate::server::Server;
use crate::server::core::Core;
use crate::sync::spawn_boxed;

impl Server {
    /// Serves one client over standard input and output until it closes them.
    ///
    /// From here on the process's own standard output is redirected to standard error, so that a stray
    /// `println!` cannot corrupt the stream. If standard error is a pipe (on Unix), a client that does not read it delays
    /// nothing: beyond a mebibyte, what is logged is dropped and counted. A program that calls `std::process::exit` while
    /// it serves may lose its last lines. Call it inside a Tokio runtime with timers enabled, as under
    /// `#[tokio::main]`. Calls in flight are finished before it returns.
    ///
    /// SIGTERM and Ctrl-C (on Windows, Ctrl-C, Ctrl-Break, and the end of the console or the session) shut it down
    /// gracefully, a second one at once;
    /// [`disable_signals`](Self::disable_signals) leaves them to the program.
    ///
    /// Dropping the future, as a `select!` does that takes another branch, ends it at once. To let calls
    /// finish, [shut the server down](crate::ServerHandle::shutdown) first.
    pub async fn serve_stdio(self) -> Result<(), ServerError> {
        hint_at_terminal(&self.info);
        if !self.signals_disabled {
            signals::end_on_signal(&self.shared)?;
        }
        let (input, output) = claim::standard_streams()?;
        #[cfg(unix)]
        let _pump = log_pump::start().unwrap_or_else(|error| {
            tracing::warn!(%error, "the log goes to standard error directly, and blocks if nobody reads it");
            None
        });
        serve(self.into_core(), input, output).await
    }
}

/// Serves one client until its input ends or the server shuts down, and its calls are over. Dropping the
/// future ends it at once.
///
/// The work is a task of its own: the caller may stop polling this future and still wait for the end, as in a
/// branch of `select!` that shuts the server down.
pub(crate) async fn serve<R, W>(core: Arc<Core>, input: R, output: W) -> Result<(), ServerError>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let serving = core.shared.serving();
    // Handlers on the reader's thread log to the subscriber of the caller.
    let has_tracing_layer = core.shared.catalog().settings.has_tracing_layer;
    let subscriber = has_tracing_layer.then(|| tracing::dispatcher::get_default(Dispatch::clone));
    let (done, mut result) = oneshot::channel();
    let ended = || ServerError::internal("the runtime was shut down while the server was served");
    let work = Box::pin(async move {
        let _serving = serving;
        let _ = done.send(match Conversation::start(core, subscriber, input, output) {
            Ok(conversation) => conversation.run().await,
            Err(error) => Err(error),
        });
    });
    let mut task = AbortOnDrop(spawn_boxed(work));
    match (&mut task.0).await {
        Ok(()) => result.try_recv().unwrap_or_else(|_| Err(ended())),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ended()),
        },
    }
}

/// Aborts a task when its result is not awaited any more.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The keys that end the input of a terminal.
const END_OF_INPUT: &str = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };

/// Explains itself to a person who started the server by hand.
fn hint_at_terminal(info: &Implementation) {
    if !io::stdin().is_terminal() {
        return;
    }
    let program = std::env::current_exe().map_or_else(|_| info.name.clone(), |path| path.display().to_string());
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let configuration = client_configuration(&info.name, &program, arguments.collect());
    let Implementation { name, version, .. } = info;
    eprintln!(
        "{name} {version} is an MCP server: it speaks JSON-RPC on standard input and output, one message per line.\n\
         An MCP client starts it for you. In the client's configuration:\n\n\
         \x20   {configuration}\n\n\
         To try it here, type a message, for example\n\n\
         \x20   {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n\n\
         and {END_OF_INPUT} to end."
    );
}

/// The JSON with which most clients are told of a server: how to start it, as it was started here.
fn client_configuration(name: &str, program: &str, arguments: Vec<String>) -> String {
    let text = |text: &str| to_text(&text.into());
    let arguments =
        if arguments.is_empty() { String::new() } else { format!(", \"args\": {}", to_text(&arguments.into())) };
    // By hand, for the spaces: it is read by people first.
    format!("{{ \"mcpServers\": {{ {}: {{ \"command\": {}{arguments} }} }} }}", text(name), text(program))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as channel;
    use std::time::Duration;

    use serde_json::Value;

    use super::*;
    use crate::server::Server;

    /// What the client sends, until the sender is dropped.
    struct Input(channel::Receiver<Vec<u8>>);

    impl Read for Input {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.recv().unwrap_or_default();
            out[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    /// What the client receives.
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

    #[test]
    fn configuration_is_json_with_the_arguments_if_there_are_any() {
        let plain = client_configuration("hello", "/opt/hello", Vec::new());
        assert_eq!(plain, r#"{ "mcpServers": { "hello": { "command": "/opt/hello" } } }"#);
        let arguments = ["--db", "my \"notes\".db", "\u{1b}"].map(str::to_owned);
        let text = client_configuration("a \"b\"", r"C:\hello.exe", arguments.to_vec());
        let read: Value = serde_json::from_str(&text).unwrap();
        let server = &read["mcpServers"]["a \"b\""];
        assert_eq!(*server, serde_json::json!({"command": r"C:\hello.exe", "args": arguments}), "{text}");
    }

    #[tokio::test]
    async fn shutdown_completes_while_the_serving_future_is_not_polled() {
        let server = Server::new("test", "1.0.0");
        let handle = server.handle();
        let (_send, input, output, _receive) = client();
        let mut serving = std::pin::pin!(serve(server.into_core(), input, output));
        tokio::select! {
            _ = &mut serving => panic!("it ended by itself"),
            () = tokio::time::sleep(Duration::from_millis(10)) => soon(handle.shutdown()).await,
        }
        soon(serving).await.unwrap();
    }

    #[tokio::test]
    async fn end_of_input_does_not_wait_for_the_drain_timeout() {
        let limits = crate::Limits { drain_timeout: Duration::from_secs(10 * 60), ..crate::Limits::default() };
        assert!(limits.eof_timeout + Duration::from_millis(400) < Duration::from_secs(2), "clients kill after two");
        let never = crate::Tool::builder("never").handler(async |_, _: Value| std::future::pending::<String>().await);
        let server = Server::new("test", "1.0.0").limits(limits).tools([never]);
        let (send, input, output, receive) = client();
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}"#;
        send.send(format!("{hello}\n{call}\n").into()).unwrap();
        drop(send);
        soon(serve(server.into_core(), input, output)).await.unwrap();
        let answers: Vec<u8> = receive.iter().flatten().collect();
        assert!(String::from_utf8_lossy(&answers).contains("ended before the call was done"));
    }

    #[tokio::test]
    async fn dropping_the_serving_future_closes_the_output() {
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
