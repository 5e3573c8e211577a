//! Round trips to Redis per call, counted by a proxy before it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Finding, Findings};
use crate::Result;
use crate::client::Client;
use crate::options::Options;
use crate::redis::Redis;
use crate::replica::{Recipe, Replica};
use crate::site::Folder;

/// Calls in a batch, and batches. The fewest count, because the connection is also asked whether it is there.
const CALLS: usize = 20;
const BATCHES: usize = 5;

pub(super) async fn run(options: &Options) -> Result<Findings> {
    let folder = Folder::new()?;
    let redis = Redis::start(&folder.0).await?;
    let trips = Arc::new(AtomicUsize::new(0));
    let counted = count(redis.address(), Arc::clone(&trips)).await?;
    let log = folder.0.join("replica.log");
    let recipe = Recipe { program: options.everything.clone(), redis: counted, log };
    let replica = Replica::start(recipe).await?;
    let mut findings = Findings::default();
    let modern = Client::modern(replica.address);
    let session = Client::open(replica.address, "2025-11-25").await?;
    for (name, client, most) in [("2026-07-28", &modern, 0), ("session", &session, CALLS)] {
        let fewest = batches(client, &trips).await?;
        let misses = (fewest > most).then(|| format!("{fewest} round trips for {CALLS} calls, at most {most}"));
        findings.notes.push(format!("cost: {fewest} round trips to Redis for {CALLS} calls ({name})"));
        findings.items.push(Finding { name: format!("cost/{name}"), misses: misses.into_iter().collect() });
    }
    if trips.load(Ordering::SeqCst) == 0 {
        findings.items.push(Finding { name: "cost".to_owned(), misses: vec!["nothing was counted".to_owned()] });
    }
    Ok(findings)
}

/// The fewest round trips of a batch of calls.
async fn batches(client: &Client, trips: &AtomicUsize) -> Result<usize> {
    let mut fewest = usize::MAX;
    for _ in 0..BATCHES {
        let before = trips.load(Ordering::SeqCst);
        for _ in 0..CALLS {
            client.call("greet", json!({ "name": "you" })).await?;
        }
        fewest = fewest.min(trips.load(Ordering::SeqCst) - before);
    }
    Ok(fewest)
}

/// A proxy to Redis that counts the times that something is sent after something was received.
async fn count(redis: SocketAddr, trips: Arc<AtomicUsize>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let trips = Arc::clone(&trips);
            tokio::spawn(async move {
                let server = TcpStream::connect(redis).await?;
                forward(client, server, &trips).await
            });
        }
    });
    Ok(address)
}

async fn forward(mut client: TcpStream, mut server: TcpStream, trips: &AtomicUsize) -> std::io::Result<()> {
    let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut answered = true;
    loop {
        tokio::select! {
            read = client.read(&mut question) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                if std::mem::take(&mut answered) {
                    trips.fetch_add(1, Ordering::SeqCst);
                }
                server.write_all(&question[..length]).await?;
            }
            read = server.read(&mut answer) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                answered = true;
                client.write_all(&answer[..length]).await?;
            }
        }
    }
}
