//! The well-behaved client: a steady rate of calls on a few kept-alive connections, from a thread of its own, so that
//! what it measures is the server and not the rest of the driver.
//!
//! Calls have a schedule. The time of a call counts from when it was due, so that a connection that waits does not hide
//! the calls it would have sent meanwhile. What passes before the client's own timer wakes it is the machine's, and does not
//! count.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::LocalSet;
use tokio::time::{sleep_until, timeout_at};

use crate::http::{Response, Wire};
use crate::message::{self, Bytes};
use crate::target::Target;

/// A call that takes longer is an error.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// What the client does over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Calls `add`, 50 times a second.
    Add,
    /// Calls `add` in a session opened at the beginning, 10 times a second.
    Session,
    /// Opens a session, calls `add` there and ends it, twice a second.
    Open,
    /// Creates a task and asks for it, once a second.
    Task,
    /// Opens a session at the beginning, and calls `add` there at the very end.
    Return,
}

impl Duty {
    pub(crate) const ALL: [Self; 5] = [Duty::Add, Duty::Session, Duty::Open, Duty::Task, Duty::Return];

    /// The connections, and the calls a second on each.
    fn rate(self) -> (u32, u32) {
        match self {
            Duty::Add => (5, 10),
            Duty::Session => (1, 10),
            Duty::Open => (1, 2),
            Duty::Task => (1, 1),
            Duty::Return => (1, 0),
        }
    }
}

/// One thing that was to be done.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) duty: Duty,
    pub(crate) due: Instant,
    /// How late the client itself was, without waiting for the server: a busy machine, not a slow server.
    pub(crate) late: Duration,
    pub(crate) outcome: Result<Duration, String>,
}

type Samples = Arc<Mutex<Vec<Sample>>>;

#[derive(Debug)]
pub(crate) struct GoodClient {
    samples: Samples,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl GoodClient {
    pub(crate) fn start(target: &Target, from: IpAddr, duties: &'static [Duty]) -> Self {
        let (samples, stop) = (Samples::default(), Arc::<AtomicBool>::default());
        let client = (target.clone(), Arc::clone(&samples), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            let (target, samples, stop) = client;
            let all = LocalSet::new();
            for duty in duties {
                for place in 0..duty.rate().0 {
                    let worker = Worker::new(*duty, target.clone(), from);
                    all.spawn_local(worker.work(place, Arc::clone(&samples), Arc::clone(&stop)));
                }
            }
            runtime.block_on(all);
        });
        GoodClient { samples, stop, thread }
    }

    /// Whether it still runs.
    pub(crate) fn is_busy(&self) -> bool {
        !self.thread.is_finished()
    }

    /// From now on no call is begun.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the calls that have begun, which takes at most their timeout.
    pub(crate) fn samples(self) -> Vec<Sample> {
        self.stop();
        let _ = self.thread.join();
        std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One connection of the client.
struct Worker {
    duty: Duty,
    target: Target,
    from: IpAddr,
    wire: Option<Wire>,
    session: Option<String>,
    add: Bytes,
}

impl Worker {
    fn new(duty: Duty, target: Target, from: IpAddr) -> Self {
        let add = message::call(&target, "add", &json!({ "a": 20, "b": 22 }));
        Worker { duty, target, from, wire: None, session: None, add }
    }

    async fn work(mut self, place: u32, samples: Samples, stop: Arc<AtomicBool>) {
        let (connections, rate) = self.duty.rate();
        let record = |duty, due: Instant, late, outcome: Result<(), String>| {
            let outcome = outcome.map(|()| due.elapsed().saturating_sub(late));
            samples.lock().unwrap_or_else(PoisonError::into_inner).push(Sample { duty, due, late, outcome });
        };
        if matches!(self.duty, Duty::Session | Duty::Return) {
            let opened = within(Instant::now(), self.open_session()).await;
            match opened {
                Ok(session) => self.session = Some(session),
                Err(error) => return record(self.duty, Instant::now(), Duration::ZERO, Err(error)),
            }
        }
        let period = Duration::from_secs(1) / rate.max(1);
        let mut due = Instant::now() + period * place / connections;
        while rate > 0 && !stop.load(Ordering::Relaxed) {
            let free = Instant::now();
            sleep_until(due.into()).await;
            let late = due.max(free).elapsed();
            let outcome = within(due, self.once()).await;
            if outcome.is_err() {
                // Whatever is still on its way belongs to the call that failed.
                self.wire = None;
            }
            record(self.duty, due, late, outcome);
            due += period;
        }
        while rate == 0 && !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if rate == 0 {
            // Its connection has long been idle: a new one is what a client would take.
            self.wire = None;
            let now = Instant::now();
            let outcome = within(now, self.once()).await;
            record(self.duty, now, Duration::ZERO, outcome);
        }
    }

    async fn once(&mut self) -> Result<(), String> {
        match self.duty {
            Duty::Add => {
                let request = Arc::clone(&self.add);
                sum(&self.exchange(&request).await?)
            }
            Duty::Session | Duty::Return => {
                let session = self.session.clone().ok_or("no session")?;
                self.add_in(&session).await
            }
            Duty::Open => {
                let session = self.open_session().await?;
                let added = self.add_in(&session).await;
                let end = message::end_session(&self.target, &session);
                self.exchange(&end).await?;
                added
            }
            Duty::Task => self.task().await,
        }
    }

    async fn open_session(&mut self) -> Result<String, String> {
        let hello = message::initialize(&self.target, "good", &json!({}));
        let response = self.exchange(&hello).await?;
        let session = response.head.session.clone();
        let session = session.ok_or_else(|| format!("`initialize` got {}", response.head.status))?;
        let ready = message::in_session(&self.target, &session, message::INITIALIZED);
        self.exchange(&ready).await?;
        Ok(session)
    }

    async fn add_in(&mut self, session: &str) -> Result<(), String> {
        let params = json!({ "name": "add", "arguments": { "a": 20, "b": 22 } });
        let call = message::in_session(&self.target, session, &message::request("tools/call", &params));
        sum(&self.exchange(&call).await?)
    }

    /// A server out of tasks may run the call to its end instead.
    async fn task(&mut self) -> Result<(), String> {
        let params = json!({ "name": "work", "arguments": { "ms": 0, "answer": 10 } });
        let create = message::task(&self.target, "tools/call", params);
        let created = result(&self.exchange(&create).await?)?;
        if created["isError"] == true {
            return Err(created["content"][0]["text"].to_string());
        }
        let Some(id) = created["taskId"].as_str() else { return Ok(()) };
        let get = message::task(&self.target, "tasks/get", json!({ "taskId": id }));
        result(&self.exchange(&get).await?).map(drop)
    }

    /// Sends on the kept connection. A server may have closed it since the last response, so a connection that ends
    /// without a byte is tried anew once, as HTTP clients do.
    async fn exchange(&mut self, request: &[u8]) -> Result<Response, String> {
        if let Some(mut wire) = self.wire.take() {
            match wire.exchange(request).await {
                Ok(response) => {
                    self.wire = Some(wire);
                    return Ok(response);
                }
                Err(error) if wire.has_received() => return Err(error.to_string()),
                Err(_) => {}
            }
        }
        let mut wire = Wire::open(&self.target, self.from).await.map_err(|error| format!("connect: {error}"))?;
        let response = wire.exchange(request).await.map_err(|error| error.to_string())?;
        self.wire = Some(wire);
        Ok(response)
    }
}

/// Gives up when the call is too late.
async fn within<T>(due: Instant, call: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout_at((due + TIMEOUT).into(), call).await.unwrap_or_else(|_| Err("timed out".to_owned()))
}

fn result(response: &Response) -> Result<Value, String> {
    let status = response.head.status;
    if status != 200 {
        return Err(format!("status {status}"));
    }
    let mut answer = message::answer(&response.body).ok_or("no message")?;
    let result = answer["result"].take();
    if result.is_object() { Ok(result) } else { Err(answer["error"]["message"].to_string()) }
}

fn sum(response: &Response) -> Result<(), String> {
    let result = result(response)?;
    if result["content"][0]["text"] == "42" { Ok(()) } else { Err(format!("not 42: {result}")) }
}
