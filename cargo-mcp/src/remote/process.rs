//! A server that is started as a process, and speaks over its standard streams.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use mcp_runtime::cli::CliError;
use mcp_runtime::testing::{TestClient, TestClientBuilder};

/// How long a server may take to exit once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The process of a server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    shown: String,
}

impl ServerProcess {
    /// Starts a command; without one, the package in the current directory.
    pub(super) fn start(
        command: &[OsString],
        environment: &[(String, String)],
        directory: Option<&str>,
    ) -> Result<Self, CliError> {
        let this_package = ["cargo", "run", "--quiet"].map(OsString::from);
        let command = if command.is_empty() { &this_package[..] } else { command };
        if command == this_package && !in_a_package() {
            return Err(CliError::usage(
                "name a server: `-- COMMAND …`, `--url URL`, `--server NAME` (`cargo mcp discover` lists them), or run this in the \
                 directory of a package",
            ));
        }
        if command == this_package {
            // Apart from starting it: a server that takes long to answer is taken for one of an older revision.
            let built = Command::new("cargo").args(["build", "--quiet"]).stdin(Stdio::null()).status();
            if !built.is_ok_and(|status| status.success()) {
                return Err(CliError::failed("the package in this directory does not build"));
            }
        }
        let shown = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]).envs(environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = directory {
            process.current_dir(directory);
        }
        // Ctrl-C is for this process, which cancels the call before it ends the server.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let child =
            process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| match error.kind() {
                ErrorKind::NotFound => CliError::protocol(format!("cannot start `{shown}`: there is no such program")),
                _ => CliError::protocol(format!("cannot start `{shown}`: {error}")),
            })?;
        Ok(ServerProcess { child, shown })
    }

    /// A client of the server.
    pub(super) fn client(&mut self) -> TestClientBuilder {
        let (output, input) = (self.child.stdout.take(), self.child.stdin.take());
        TestClient::over(output.expect("piped, and taken once"), input.expect("piped, and taken once"))
    }

    /// Waits for the process, whose input is closed, and adds to an error that it had exited before.
    pub(super) fn end(mut self, done: Result<ExitCode, CliError>) -> Result<ExitCode, CliError> {
        let until = Instant::now() + GRACE;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => {
                    self.kill();
                    let _ = self.child.wait();
                    break None;
                }
                Ok(Some(status)) => break Some(status),
            }
        };
        done.map_err(|error| match (&error, status) {
            (CliError::Protocol(text), Some(status)) if text.contains("closed the connection") => {
                CliError::Protocol(format!("`{}` exited with {status} before it answered", self.shown))
            }
            _ => error,
        })
    }
}

impl ServerProcess {
    /// Also what it has started, such as the server behind `npx` or `cargo run`.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // It may have exited.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
    }
}

/// Whether cargo finds a package here.
fn in_a_package() -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().any(|directory| directory.join("Cargo.toml").is_file())
}
