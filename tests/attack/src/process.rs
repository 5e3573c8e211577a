//! A server process, and what the kernel knows about it.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Result;
use crate::options::Subject;
use crate::target::Target;

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(30);

/// How a scenario wants its server to be started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Setup {
    /// The descriptor limit, if not the driver's.
    pub(crate) descriptors: Option<u64>,
    /// Whether HTTP+SSE is served.
    pub(crate) sse: bool,
}

/// A server to attack: a child of the driver, or somebody else's.
#[derive(Debug)]
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) target: Target,
    id: Option<u32>,
}

impl Server {
    pub(crate) fn of(subject: &Subject, setup: Setup) -> Result<Self> {
        match subject {
            Subject::Ours => {
                let mut command = Self::command(std::env::current_exe()?, setup);
                command.arg("serve").args(setup.sse.then_some("--sse"));
                Self::start(command)
            }
            Subject::Rmcp => Self::start(Self::command(build_rmcp()?, setup)),
            Subject::Other { target, id } => Ok(Server { child: None, target: target.clone(), id: *id }),
        }
    }

    /// The shell sets the limit, because it has to be there before the server looks for it.
    fn command(program: PathBuf, setup: Setup) -> Command {
        let Some(descriptors) = setup.descriptors else { return Command::new(program) };
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {descriptors} && exec \"$@\"")).arg("sh").arg(program);
        command
    }

    /// Starts the command with an address to listen on, and waits until it does.
    fn start(mut command: Command) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let target = Target::local(port);
        // Its standard input stays open as long as this value, and ends the server.
        let child = command.arg(target.address.to_string()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut server = Server { id: Some(child.id()), child: Some(child), target };
        let begun = Instant::now();
        while TcpStream::connect(server.target.address).is_err() {
            if !server.is_alive() || begun.elapsed() > START {
                return Err("the server does not listen".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Lets the peak of memory begin anew at what is resident now. Needs the same user, for a process of somebody else's.
    pub(crate) fn forget_peak(&self) {
        if let Some(id) = self.id {
            let _ = fs::write(format!("/proc/{id}/clear_refs"), "5");
        }
    }

    /// MiB of resident memory at the highest.
    pub(crate) fn peak(&self) -> Option<f64> {
        self.status("VmHWM:")
    }

    /// MiB of resident memory now.
    pub(crate) fn resident(&self) -> Option<f64> {
        self.status("VmRSS:")
    }

    fn status(&self, label: &str) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id?)).ok()?;
        let value = status.lines().find_map(|line| line.strip_prefix(label))?;
        value.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
    }

    /// Seconds of processor time so far, of all threads there ever were.
    #[expect(clippy::cast_precision_loss, reason = "hundreds of ticks a second")]
    pub(crate) fn cpu(&self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id?)).ok()?;
        // The second field is the program's name in parentheses, which may contain anything.
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let ticks = fields.take(2).map(str::parse::<u64>).sum::<Result<u64, _>>().ok()?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Raises the descriptor limit of this process, and of the servers it starts, as far as it goes. Returns the limit.
pub(crate) fn raise_descriptor_limit() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Builds the peer's server as this driver was built, and returns its program.
fn build_rmcp() -> Result<PathBuf> {
    // this package is also one of the workspace `benches`
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/attack/rmcp");
    let (flags, profile): (&[&str], _) =
        if cfg!(debug_assertions) { (&[], "debug") } else { (&["--release"], "release") };
    let target = folder.join("target");
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--locked"])
        .args(flags)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&folder)
        .status()?;
    if built.success() {
        Ok(target.join(profile).join("attacked-rmcp"))
    } else {
        Err("rmcp's server does not build".into())
    }
}
