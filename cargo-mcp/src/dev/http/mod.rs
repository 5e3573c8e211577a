//! The supervisor over HTTP: holds the port, and passes requests to the version of the server that serves.
//!
//! Every version is a child that listens on a port of its own. Requests of 2026-07-28 need no state, so they are passed
//! on as they are; sessions ([`sessions`]) are opened at each version when they are used there, and streams
//! ([`held`]) are opened again.

mod body;
mod exchange;
mod held;
mod proxy;
mod sessions;
#[cfg(test)]
mod tests;
mod upstream;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::build::{Builder, Built};
use super::catalog::Catalog;
use super::process::{GRACE, Launch};
use super::report::{Report, seconds};
use crate::failure::Failure;
use sessions::{Sessions, lock};
use upstream::{Exited, Upstream};

/// How long a request waits for a server, how long calls may take on a version that was replaced: as on stdio.
const WAIT: Duration = Duration::from_secs(50);
const DRAIN: Duration = Duration::from_secs(30);
/// The versions that live at the same time.
const ALIVE: usize = 5;
const CONNECTIONS: usize = 1_024;
/// A version that lived this long did not exit because of its start.
const STABLE: Duration = Duration::from_secs(30);
/// Streams move to the new version before the old one is told to end.
const MOVE: Duration = Duration::from_millis(200);

/// What requests share.
#[derive(Debug, Default)]
struct Proxy {
    current: watch::Sender<Option<Arc<Upstream>>>,
    alive: Mutex<BTreeMap<u64, Arc<Upstream>>>,
    sessions: Sessions,
    /// Why the newest source does not run, until a model was told.
    failure: Mutex<Option<String>>,
    /// The same, for clients that wait for the first version.
    last_failure: Mutex<Option<String>>,
    /// A request waits, and no version serves.
    wanted: Notify,
    /// A version did not start, and no other serves.
    not_started: Notify,
}

impl Proxy {
    /// The version that serves, as soon as there is one.
    async fn upstream(&self) -> Result<Arc<Upstream>, String> {
        let mut current = self.current.subscribe();
        // The exit of a process is noticed at once; until then it is still the current one.
        let lives = |one: &Option<Arc<Upstream>>| one.as_ref().is_none_or(|one| one.status().is_none());
        drop(tokio::time::timeout(WAIT, current.wait_for(lives)).await);
        if current.borrow().is_none() {
            self.wanted.notify_one();
        }
        let upstream = tokio::select! {
            upstream = current.wait_for(Option::is_some) => upstream.ok().and_then(|upstream| upstream.clone()),
            () = self.not_started.notified() => None,
            () = sleep(WAIT) => None,
        };
        upstream.ok_or_else(|| match &*lock(&self.last_failure) {
            Some(failure) => format!("no version of the server runs: {}", super::adapt::shown(failure)),
            None => "the server is still being built; retry later".to_owned(),
        })
    }

    /// Completes with a version that is newer.
    async fn newer(&self, than: u64) -> Arc<Upstream> {
        let mut current = self.current.subscribe();
        let newer = |upstream: &Option<Arc<Upstream>>| upstream.as_ref().is_some_and(|one| one.generation > than);
        let upstream = current.wait_for(newer).await.ok().and_then(|upstream| upstream.clone());
        match upstream {
            Some(upstream) => upstream,
            None => std::future::pending().await,
        }
    }

    fn is_current(&self, upstream: &Upstream) -> bool {
        self.current.borrow().as_ref().is_some_and(|current| current.generation == upstream.generation)
    }

    fn alive(&self, generation: u64) -> Option<Arc<Upstream>> {
        lock(&self.alive).get(&generation).cloned()
    }

    fn others(&self, than: u64) -> Vec<Arc<Upstream>> {
        lock(&self.alive).values().filter(|upstream| upstream.generation != than).cloned().collect()
    }
}

struct Supervisor {
    proxy: Arc<Proxy>,
    launch: Launch,
    name: String,
    address: String,
    report: Report,
    executable: Option<PathBuf>,
    generation: u64,
    /// What the newest version that served lists.
    catalog: Catalog,
    crashed: bool,
    crashes: u32,
    /// When the version that serves began to, and what the person was told first.
    serving_since: Option<Instant>,
    started: mpsc::Sender<Started>,
    exits: mpsc::Sender<Exited>,
}

/// What came of starting a version.
struct Started {
    generation: u64,
    upstream: Result<Arc<Upstream>, String>,
    saved: Instant,
}

/// Serves clients on an address until the process is told to end.
pub(crate) async fn serve(
    builder: Builder,
    launch: Launch,
    name: String,
    address: &str,
    report: Report,
) -> Result<ExitCode, Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen on {address}: {error}; give another with `--http ADDR`"))
    })?;
    let address = listener.local_addr().map_or_else(|_| address.to_owned(), |address| address.to_string());
    let (started, mut starts) = mpsc::channel(4);
    let (exits, mut exited) = mpsc::channel(4);
    let (built, mut builds) = mpsc::channel(1);
    let building = tokio::spawn(builder.run(built));
    let proxy = Arc::new(Proxy::default());
    let accepting = tokio::spawn(accept(listener, Arc::clone(&proxy)));
    let mut supervisor = Supervisor {
        proxy: Arc::clone(&proxy),
        launch,
        name,
        address,
        report,
        executable: None,
        generation: 0,
        catalog: Catalog::default(),
        crashed: false,
        crashes: 0,
        serving_since: None,
        started,
        exits,
    };
    let ended = super::shutdown();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            Some(built) = builds.recv() => supervisor.built(built),
            Some(started) = starts.recv() => supervisor.started(started),
            Some(exited) = exited.recv() => supervisor.exited(&exited),
            () = proxy.wanted.notified() => supervisor.restart(),
            () = &mut ended => break,
        }
    }
    accepting.abort();
    building.abort();
    building.await.ok();
    supervisor.end(&mut exited).await;
    Ok(ExitCode::SUCCESS)
}

impl Supervisor {
    fn built(&mut self, built: Built) {
        match built {
            Built::New(executable, saved) => {
                self.executable = Some(executable);
                self.start(Duration::ZERO, saved);
            }
            Built::Unchanged => self.fail(None),
            Built::Failed { text, saved } => {
                self.fail(Some(text));
                self.report.build_failed(saved, self.proxy.current.borrow().is_some());
            }
        }
    }

    fn fail(&self, failure: Option<String>) {
        lock(&self.proxy.last_failure).clone_from(&failure);
        *lock(&self.proxy.failure) = failure;
    }

    fn start(&mut self, delay: Duration, saved: Instant) {
        let Some(executable) = &self.executable else { return };
        self.crashed = false;
        self.generation += 1;
        let (command, generation) = (self.launch.command(executable), self.generation);
        let (started, exits) = (self.started.clone(), self.exits.clone());
        tokio::spawn(async move {
            sleep(delay).await;
            let upstream = Upstream::start(command, generation, exits).await;
            started.send(Started { generation, upstream, saved }).await.ok();
        });
    }

    /// A version listens, or does not.
    fn started(&mut self, started: Started) {
        // One that exited while its lists were read was not current yet, so nobody noticed.
        let upstream = started.upstream.and_then(|upstream| match upstream.status() {
            Some(status) => Err(format!("exited ({status}) before it served")),
            None => Ok(upstream),
        });
        let upstream = match upstream {
            Ok(upstream) => upstream,
            // A newer build is starting, or serves: this is not its failure.
            Err(_) if started.generation < self.generation => return,
            Err(reason) => {
                let reason = format!("the new version {reason}");
                self.report.error(&reason);
                self.crashed = self.proxy.current.borrow().is_none();
                self.crashes += u32::from(self.crashed);
                self.fail(Some(reason));
                if self.crashed {
                    self.proxy.not_started.notify_waiters();
                }
                return;
            }
        };
        // An older build took longer to start.
        if self.proxy.current.borrow().as_ref().is_some_and(|current| current.generation > upstream.generation) {
            return upstream.stop("a newer version serves");
        }
        let before = std::mem::replace(&mut self.catalog, upstream.catalog.clone());
        upstream.changed.set(self.catalog.changed_since(&before)).ok();
        lock(&self.proxy.alive).insert(upstream.generation, Arc::clone(&upstream));
        self.fail(None);
        let old = self.proxy.current.send_replace(Some(Arc::clone(&upstream)));
        match (self.serving_since, &old) {
            (None, _) => {
                let url = format!("http://{}{}", self.address, upstream.path);
                let took = seconds(started.saved.elapsed());
                self.report.status("Serving", format!("{} on {url} after {took}", self.name));
            }
            (Some(_), None) => self.report.status("Restarted", &self.name),
            (Some(_), Some(_)) => {
                let changes = self.catalog.describe_since(&before);
                self.report.swapped(&self.name, started.saved, &changes);
            }
        }
        self.serving_since = Some(Instant::now());
        if let Some(old) = old {
            tokio::spawn(drain(old));
        }
        let extra = lock(&self.proxy.alive).len().saturating_sub(ALIVE);
        for old in self.proxy.others(upstream.generation).iter().take(extra) {
            old.stop("the server was replaced several times; repeat the call");
        }
    }

    fn exited(&mut self, exited: &Exited) {
        lock(&self.proxy.alive).remove(&exited.generation);
        let is_current = self.proxy.current.borrow().as_ref().is_some_and(|one| one.generation == exited.generation);
        if is_current {
            self.proxy.current.send_replace(None);
            self.crashed = true;
            let stable = self.serving_since.is_some_and(|since| since.elapsed() > STABLE);
            self.crashes = if stable { 1 } else { self.crashes + 1 };
            let next = "it is started again with the next request, or when its source changes";
            self.report.error(format!("the server exited ({}); {next}", exited.status));
        }
    }

    /// A request waits; the more often the server exited, the longer.
    fn restart(&mut self) {
        if self.crashed {
            let delay = match self.crashes {
                0 | 1 => Duration::ZERO,
                crashes => Duration::from_millis(250 << crashes.min(7)).min(Duration::from_secs(30)),
            };
            self.start(delay, Instant::now());
        }
    }

    async fn end(&self, exited: &mut mpsc::Receiver<Exited>) {
        let mut alive = lock(&self.proxy.alive).clone();
        for upstream in alive.values() {
            upstream.stop("cargo mcp dev ends");
        }
        // Others may exit meanwhile: those that were replaced before they served.
        let all = async {
            while !alive.is_empty() {
                let Some(exited) = exited.recv().await else { return };
                alive.remove(&exited.generation);
            }
        };
        timeout(2 * GRACE, all).await.ok();
    }
}

/// Ends a version when its calls are finished, or have taken too long.
async fn drain(old: Arc<Upstream>) {
    sleep(MOVE).await;
    timeout(DRAIN, old.idle()).await.ok();
    old.stop(&format!(
        "the server was replaced by a new version, and this call did not finish on the old one within {} s; repeat it",
        DRAIN.as_secs()
    ));
}

/// Accepts connections; one over the limit waits.
async fn accept(listener: TcpListener, proxy: Arc<Proxy>) {
    let limit = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let proxy = Arc::clone(&proxy);
                tokio::spawn(async move {
                    connection(stream, proxy).await;
                    drop(permit);
                });
            }
            // Out of file descriptors: there may be some later.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, proxy: Arc<Proxy>) {
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request| Arc::clone(&proxy).respond(request));
    // What goes wrong with a connection is the client's to notice.
    http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await.ok();
}
