//! Clients that call all the time, and what becomes of their calls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Result;
use crate::client::{Client, text};
use crate::http::Reply;

/// How long a stream that broke may be silent when it is resumed.
const SILENCE: Duration = Duration::from_secs(20);

/// Clients of each kind.
const CLIENTS: usize = 6;

/// A refusal that takes longer is slow.
const PROMPT: Duration = Duration::from_secs(1);

/// What became of calls.
#[derive(Debug, Default, Clone)]
pub(crate) struct Figures {
    pub(crate) calls: usize,
    pub(crate) answered: usize,
    /// Refused, or broken off, in a way that tells the client to call again.
    pub(crate) retryable: usize,
    /// Responses that broke off. They are resumed, if they had an event with an id.
    pub(crate) broken: usize,
    /// Neither answered nor refused.
    pub(crate) lost: usize,
    pub(crate) sessions: usize,
    pub(crate) sessions_lost: usize,
    /// Sessions that were begun anew after they were lost.
    pub(crate) anew: usize,
    /// Refusals that do not say when to come back, or answers that are wrong.
    pub(crate) faults: usize,
    pub(crate) longest: Duration,
    pub(crate) longest_refusal: Duration,
    pub(crate) slow_refusals: usize,
    /// The first of what went wrong.
    pub(crate) why: Option<String>,
}

impl Figures {
    pub(crate) fn add(&mut self, other: Figures) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.retryable += other.retryable;
        self.broken += other.broken;
        self.lost += other.lost;
        self.sessions += other.sessions;
        self.sessions_lost += other.sessions_lost;
        self.anew += other.anew;
        self.faults += other.faults;
        self.longest = self.longest.max(other.longest);
        self.longest_refusal = self.longest_refusal.max(other.longest_refusal);
        self.slow_refusals += other.slow_refusals;
        self.why = self.why.take().or(other.why);
    }

    fn count(&mut self, took: Duration, outcome: Outcome) {
        self.calls += 1;
        self.longest = self.longest.max(took);
        let why = match outcome {
            Outcome::Answered => {
                self.answered += 1;
                return;
            }
            Outcome::Retryable => {
                self.retryable += 1;
                self.longest_refusal = self.longest_refusal.max(took);
                self.slow_refusals += usize::from(took > PROMPT);
                return;
            }
            Outcome::Lost(why) => {
                self.lost += 1;
                format!("lost: {why}")
            }
            Outcome::SessionLost => {
                self.sessions_lost += 1;
                "HTTP 404 in a session".to_owned()
            }
            Outcome::Fault(why) => {
                self.faults += 1;
                why
            }
        };
        self.why.get_or_insert(why);
    }
}

enum Outcome {
    Answered,
    Retryable,
    Lost(String),
    SessionLost,
    Fault(String),
}

/// What both kinds of clients got.
#[derive(Debug, Default, Clone)]
pub(crate) struct Both {
    pub(crate) modern: Figures,
    pub(crate) sessions: Figures,
}

/// Clients that call until they are told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: JoinSet<(bool, Figures)>,
}

impl Load {
    /// Opens the sessions, and begins. A client whose session is lost stops.
    pub(crate) async fn start(address: SocketAddr) -> Result<Self> {
        Self::with(address, false).await
    }

    /// Opens the sessions, and begins. A client whose session is lost opens another one.
    pub(crate) async fn beginning_anew(address: SocketAddr) -> Result<Self> {
        Self::with(address, true).await
    }

    async fn with(address: SocketAddr, anew: bool) -> Result<Self> {
        let (stop, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for number in 0..CLIENTS {
            clients.spawn(calls(Client::modern(address), Arc::clone(&stop), anew));
            let revision = crate::client::LEGACY[number % crate::client::LEGACY.len()];
            clients.spawn(calls(Client::open(address, revision).await?, Arc::clone(&stop), anew));
        }
        Ok(Load { stop, clients })
    }

    /// Lets the calls that run come to their end.
    pub(crate) async fn stop(mut self) -> Result<Both> {
        self.stop.store(true, Ordering::Relaxed);
        let mut both = Both::default();
        while let Some(figures) = self.clients.join_next().await {
            let (modern, figures) = figures?;
            if modern { both.modern.add(figures) } else { both.sessions.add(figures) }
        }
        Ok(both)
    }
}

/// One client: quick calls, and every third with a stream that takes a moment.
async fn calls(mut client: Client, stop: Arc<AtomicBool>, anew: bool) -> (bool, Figures) {
    let modern = client.revision == crate::client::MODERN;
    let mut figures = Figures { sessions: usize::from(!modern), ..Figures::default() };
    for number in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let outcome = call(&client, number, &mut figures).await;
        let gone = matches!(outcome, Outcome::SessionLost);
        let pause = if matches!(outcome, Outcome::Answered) { 10 } else { 100 };
        figures.count(begun.elapsed(), outcome);
        if gone {
            match client.reopened().await {
                Ok(reopened) if anew => client = reopened,
                _ => break,
            }
            figures.anew += 1;
        }
        sleep(Duration::from_millis(pause)).await;
    }
    (modern, figures)
}

async fn call(client: &Client, number: u64, figures: &mut Figures) -> Outcome {
    let (tool, arguments, expected) = if number % 3 == 2 {
        ("test_tool_with_progress", json!({}), "done".to_owned())
    } else {
        ("greet", json!({ "name": number.to_string() }), format!("Hello, {number}!"))
    };
    // Nothing, or only a part of a head: as good as a connection error, after which a client calls again.
    let Ok((id, mut reply)) = client.start(tool, arguments).await else { return Outcome::Retryable };
    match reply.status {
        200 => {}
        404 => return Outcome::SessionLost,
        502..=504 if reply.retry_after => return Outcome::Retryable,
        status => return Outcome::Fault(format!("{tool}: HTTP {status}, without Retry-After")),
    }
    match read(&mut reply, id).await {
        Ok(answer) if answer.get("error").is_some() => Outcome::Fault(format!("{tool}: {answer}")),
        Ok(answer) => judge(&answer, &expected),
        Err(why) => {
            figures.broken += 1;
            match reply.last_event.take() {
                Some(event) => resume(client, event, id, &expected).await,
                None if why.kind() == std::io::ErrorKind::TimedOut => Outcome::Lost(format!("{tool}: silence")),
                // Without an event id nothing can be resumed; the client knows that its call broke off.
                None => Outcome::Retryable,
            }
        }
    }
}

/// Reads until the answer.
async fn read(reply: &mut Reply, id: u64) -> std::io::Result<Value> {
    loop {
        match reply.next().await? {
            Some(message) if message["id"] == id && message.get("method").is_none() => return Ok(message),
            Some(_) => {}
            None => return Err(std::io::Error::other("a stream without an answer")),
        }
    }
}

fn judge(answer: &Value, expected: &str) -> Outcome {
    match answer.get("result") {
        Some(result) if text(result) == expected => Outcome::Answered,
        Some(result) => Outcome::Fault(format!("a wrong answer: {result}")),
        // On a resumed stream: the replica that ran the call has died, and the client knows that nothing comes of it.
        None => Outcome::Retryable,
    }
}

/// Resumes a broken stream, wherever and as often as it takes.
async fn resume(client: &Client, mut event: String, id: u64, expected: &str) -> Outcome {
    let begun = Instant::now();
    let mut last = "silence".to_owned();
    while begun.elapsed() < SILENCE {
        match client.listen(Some(&event)).await {
            Ok(mut reply) if reply.status == 200 => {
                let left = SILENCE.saturating_sub(begun.elapsed());
                match tokio::time::timeout(left, read(&mut reply, id)).await {
                    Ok(Ok(answer)) => return judge(&answer, expected),
                    Ok(Err(error)) => last = format!("resumed after {event}: {error}"),
                    Err(_) => last = format!("resumed after {event}, and then silence"),
                }
                event = reply.last_event.take().unwrap_or(event);
            }
            Ok(reply) if reply.status == 404 => return Outcome::SessionLost,
            Ok(reply) => last = format!("resumption after {event}: HTTP {}", reply.status),
            Err(error) => last = error.to_string(),
        }
        sleep(Duration::from_millis(100)).await;
    }
    Outcome::Lost(last)
}
