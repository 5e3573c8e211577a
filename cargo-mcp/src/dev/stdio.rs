//! The supervisor on stdio: performs what [`Session`] decides.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until, timeout};

use super::build::{Builder, Built};
use super::process::{Event, GRACE, Launch, Process, next_line};
use super::report::{Report, seconds};
use super::session::{Action, ChildId, Note, Session};

/// Messages between the tasks.
const QUEUE: usize = 64;
/// The client is not read while a child has this much to read.
const BACKLOG_BYTES: usize = 16 << 20;

struct Supervisor {
    session: Session,
    launch: Launch,
    name: String,
    report: Report,
    processes: HashMap<ChildId, Process>,
    children: ChildId,
    /// The newest build.
    executable: Option<PathBuf>,
    /// When to start it again.
    restart: Option<tokio::time::Instant>,
    events: mpsc::Sender<Event>,
    client: mpsc::Sender<String>,
}

/// Serves the client on standard input and output until it leaves.
pub(crate) async fn serve(builder: Builder, launch: Launch, name: String, report: Report) -> ExitCode {
    let (events, mut from_children) = mpsc::channel(QUEUE);
    let (built, mut builds) = mpsc::channel(1);
    let (client, to_client) = mpsc::channel(QUEUE);
    let (lines, mut from_client) = mpsc::channel(QUEUE);
    tokio::spawn(read_client(lines));
    let writer = tokio::spawn(write_client(to_client));
    let building = tokio::spawn(builder.run(built));
    let mut supervisor = Supervisor {
        session: Session::new(),
        launch,
        name,
        report,
        processes: HashMap::new(),
        children: 0,
        executable: None,
        restart: None,
        events,
        client,
    };
    let mut open = true;
    let ended = super::shutdown();
    tokio::pin!(ended);
    // After the end of input, requests that wait for the first build are still answered.
    while open || supervisor.session.is_waiting() {
        let backlogged = supervisor.processes.values().any(|process| process.queued() > BACKLOG_BYTES);
        let deadline = supervisor.session.deadline().map(tokio::time::Instant::from_std);
        let restart = supervisor.restart;
        tokio::select! {
            line = from_client.recv(), if open && !backlogged => match line {
                Some(line) => supervisor.session.client_line(&line, Instant::now()),
                None => open = false,
            },
            () = sleep(std::time::Duration::from_millis(10)), if backlogged => {}
            Some(event) = from_children.recv() => supervisor.child_event(event),
            Some(built) = builds.recv() => supervisor.built(built),
            () = at(deadline) => supervisor.session.expire(Instant::now()),
            () = at(restart) => supervisor.start(Instant::now()),
            () = &mut ended => break,
        }
        // A client that reads nothing holds this up.
        tokio::select! {
            biased;
            () = supervisor.perform() => {}
            () = &mut ended => break,
        }
    }
    building.abort();
    building.await.ok();
    supervisor.end(&mut from_children).await;
    drop(supervisor);
    timeout(GRACE, writer).await.ok();
    ExitCode::SUCCESS
}

impl Supervisor {
    fn child_event(&mut self, event: Event) {
        match event {
            Event::Line(child, line) => self.session.child_line(child, &line, Instant::now()),
            Event::Exited(child, status) => {
                self.processes.remove(&child);
                self.session.exited(child, &status, Instant::now());
            }
        }
    }

    fn built(&mut self, built: Built) {
        match built {
            Built::New(executable, saved) => {
                self.executable = Some(executable);
                self.start(saved);
            }
            Built::Unchanged => self.session.build_unchanged(),
            Built::Failed { text, saved } => {
                self.session.build_failed(text);
                self.report.build_failed(saved, self.session.is_serving());
            }
        }
    }

    /// Starts the newest build.
    fn start(&mut self, saved: Instant) {
        self.restart = None;
        let Some(executable) = &self.executable else { return };
        self.children += 1;
        let child = self.children;
        let process = Process::start(self.launch.command(executable), child, self.events.clone());
        self.session.started(child, saved, Instant::now());
        match process {
            Ok(process) => {
                self.processes.insert(child, process);
            }
            Err(error) => self.session.exited(child, &format!("it cannot be started: {error}"), Instant::now()),
        }
    }

    async fn perform(&mut self) {
        for action in self.session.take() {
            match action {
                // A client that reads nothing any more has left, or will close its side.
                Action::ToClient(line) => drop(self.client.send(line).await),
                Action::ToChild(child, line) => {
                    if let Some(process) = self.processes.get(&child) {
                        process.send(line);
                    }
                }
                Action::Close(child) => drop(self.processes.remove(&child)),
                Action::Start(delay) => self.restart = Some(tokio::time::Instant::now() + delay),
                Action::Say(note) => self.say(note),
            }
        }
    }

    fn say(&self, note: Note) {
        match note {
            Note::Serving(saved) => {
                self.report.status("Serving", format!("{} on stdio after {}", self.name, seconds(saved.elapsed())));
            }
            Note::Swapped(saved, changes) => self.report.swapped(&self.name, saved, &changes),
            Note::Restarted => self.report.status("Restarted", &self.name),
            Note::Warning(text) => self.report.warning(text),
            Note::Error(text) => self.report.error(text),
        }
    }

    /// Closes the children's input, and passes on what they still answer.
    async fn end(&mut self, events: &mut mpsc::Receiver<Event>) {
        // Children that were closed before may exit meanwhile.
        let mut left: HashSet<_> = self.processes.drain().map(|(child, _)| child).collect();
        let all = async {
            while !left.is_empty() {
                let Some(event) = events.recv().await else { return };
                match event {
                    Event::Line(child, line) => self.session.child_line(child, &line, Instant::now()),
                    Event::Exited(child, status) => {
                        left.remove(&child);
                        self.session.exited(child, &status, Instant::now());
                    }
                }
                for action in self.session.take() {
                    if let Action::ToClient(line) = action {
                        self.client.send(line).await.ok();
                    }
                }
            }
        };
        // Also when the client reads nothing.
        timeout(2 * GRACE, all).await.ok();
    }
}

async fn at(instant: Option<tokio::time::Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn read_client(lines: mpsc::Sender<String>) {
    let mut stdin = BufReader::new(tokio::io::stdin());
    while let Ok(Some(line)) = next_line(&mut stdin).await {
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

/// Writes what is queued at once, then flushes.
async fn write_client(mut lines: mpsc::Receiver<String>) {
    let mut stdout = tokio::io::stdout();
    while let Some(line) = lines.recv().await {
        let mut text = line;
        text.push('\n');
        while let Ok(line) = lines.try_recv() {
            text.push_str(&line);
            text.push('\n');
        }
        if stdout.write_all(text.as_bytes()).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn end_waits_for_what_the_children_that_live_still_answer() {
        let (events, mut from_children) = mpsc::channel(QUEUE);
        let (client, mut to_client) = mpsc::channel(QUEUE);
        let mut supervisor = Supervisor {
            session: Session::new(),
            launch: Launch { arguments: Vec::new(), manifest_directory: PathBuf::new() },
            name: "notes".to_owned(),
            report: Report::new(true),
            processes: HashMap::new(),
            children: 1,
            executable: Some(PathBuf::from("cat")),
            restart: None,
            events,
            client,
        };
        supervisor.start(Instant::now());
        // A child that was closed before exits first.
        supervisor.events.send(Event::Exited(1, String::new())).await.unwrap();
        let line = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
        supervisor.processes[&2].send(line.to_owned());
        supervisor.end(&mut from_children).await;
        assert_eq!(to_client.try_recv().as_deref(), Ok(line));
    }
}
