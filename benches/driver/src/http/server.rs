//! One running HTTP server, and the connections to it.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::{runtime::Runtime, task::LocalSet};

use super::{client::Client, era::Era, tokens::Tokens};
use crate::Result;

/// How long a server may take until it listens; under valgrind that is seconds.
const START: Duration = Duration::from_secs(60);

pub struct Server {
    child: Child,
    runtime: Runtime,
    address: String,
    next_id: u64,
}

impl Server {
    /// Starts the command with an address to listen on, and waits until it does.
    pub fn start(mut command: Command) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let child = command.arg(&address).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        // One thread for all connections: the server is measured, not the client.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut server = Self { child, runtime, address, next_id: 1 };
        let begun = Instant::now();
        while std::net::TcpStream::connect(&server.address).is_err() {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("the server ended with {status}").into());
            }
            if begun.elapsed() > START {
                server.child.kill()?;
                return Err("the server does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// That many connections, each with a session of its own where the era has them.
    pub fn connect(&self, era: Era, count: usize) -> Result<Vec<Client>> {
        self.connect_with(era, count, &Tokens::none())
    }

    /// The same, with tokens.
    pub fn connect_with(&self, era: Era, count: usize, tokens: &Tokens) -> Result<Vec<Client>> {
        self.runtime.block_on(async {
            let mut clients = Vec::with_capacity(count);
            for _ in 0..count {
                clients.push(Client::connect(&self.address, era, tokens.clone()).await?);
            }
            Ok(clients)
        })
    }

    /// Opens that many idle sessions.
    pub fn open_sessions(&self, count: usize) -> Result<()> {
        self.runtime.block_on(async {
            let mut client = Client::connect(&self.address, Era::Legacy, Tokens::none()).await?;
            for _ in 1..count {
                client.open_session().await?;
            }
            Ok(())
        })
    }

    /// Divides the calls among the connections; on each the next one leaves when the answer is there. Returns how long
    /// each call took.
    pub fn call(&mut self, clients: Vec<Client>, calls: usize) -> Result<(Vec<Client>, Vec<Duration>)> {
        let each = calls / clients.len();
        let first = self.next_id;
        self.next_id += (each * clients.len()) as u64;
        let local = LocalSet::new();
        local.block_on(&self.runtime, async {
            let mut tasks = Vec::with_capacity(clients.len());
            for (place, mut client) in clients.into_iter().enumerate() {
                let begin = first + (place * each) as u64;
                tasks.push(tokio::task::spawn_local(async move {
                    let mut times = Vec::with_capacity(each);
                    for id in begin..begin + each as u64 {
                        let begun = Instant::now();
                        client.call(id).await.map_err(|error| error.to_string())?;
                        times.push(begun.elapsed());
                    }
                    Ok::<_, String>((client, times))
                }));
            }
            let (mut clients, mut all) = (Vec::with_capacity(tasks.len()), Vec::with_capacity(calls));
            for task in tasks {
                let (client, times) = task.await??;
                clients.push(client);
                all.extend(times);
            }
            Ok((clients, all))
        })
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Closes its input, which ends every server here, and waits.
    pub fn stop(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}
