//! The network between replicas and Redis: a proxy that counts round trips, stops forwarding, and refuses connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Up,
    /// Connections stay, new ones are accepted, and nothing arrives at the other end until it is up again.
    Stalled,
    /// Connections are closed, and new ones refused.
    Refused,
}

/// It forwards until it is dropped.
#[derive(Debug)]
pub(crate) struct Wire {
    address: SocketAddr,
    condition: watch::Sender<Condition>,
    trips: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl Wire {
    pub(crate) async fn to(redis: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, condition) = (listener.local_addr()?, watch::Sender::new(Condition::Up));
        let (trips, seen) = (Arc::new(AtomicUsize::new(0)), condition.subscribe());
        let accepting = tokio::spawn(accept(listener, address, redis, seen, Arc::clone(&trips))).abort_handle();
        Ok(Wire { address, condition, trips, accepting })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    pub(crate) fn is(&self, condition: Condition) {
        self.condition.send_replace(condition);
    }

    /// The times that something was sent after something was received, on all connections.
    pub(crate) fn trips(&self) -> usize {
        self.trips.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    mut listener: TcpListener,
    address: SocketAddr,
    redis: SocketAddr,
    mut condition: watch::Receiver<Condition>,
    trips: Arc<AtomicUsize>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.ok(),
            _ = condition.wait_for(|now| *now == Condition::Refused) => None,
        };
        if let Some((client, _)) = accepted {
            let (condition, trips) = (condition.clone(), Arc::clone(&trips));
            tokio::spawn(async move { forward(client, redis, condition, &trips).await });
            continue;
        }
        drop(listener);
        let _ = condition.wait_for(|now| *now != Condition::Refused).await;
        listener = loop {
            // The port stays its own: nobody else is told of it.
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
    }
}

async fn forward(
    mut client: TcpStream,
    redis: SocketAddr,
    mut condition: watch::Receiver<Condition>,
    trips: &AtomicUsize,
) -> io::Result<()> {
    let _ = condition.wait_for(|now| *now != Condition::Stalled).await;
    let mut server = TcpStream::connect(redis).await?;
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut answered = true;
    loop {
        let now = *condition.borrow_and_update();
        let (from, to) = tokio::select! {
            changed = condition.changed() => {
                // Dropped with the wire, or refused: both ends are closed.
                if changed.is_err() || *condition.borrow() == Condition::Refused {
                    return Ok(());
                }
                continue;
            }
            read = client.read(&mut question), if now == Condition::Up => {
                if std::mem::take(&mut answered) {
                    trips.fetch_add(1, Ordering::SeqCst);
                }
                (&question[..read?], &mut server)
            }
            read = server.read(&mut answer), if now == Condition::Up => {
                answered = true;
                (&answer[..read?], &mut client)
            }
        };
        if from.is_empty() {
            return Ok(());
        }
        to.write_all(from).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::{Condition, Wire};

    /// A server that says everything back.
    async fn echo() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn it_forwards_stalls_and_refuses() {
        const SOON: Duration = Duration::from_secs(20);
        let wire = Wire::to(echo().await).await.unwrap();
        let mut stream = TcpStream::connect(wire.address).await.unwrap();
        let mut said = [0; 2];
        for trip in 1..=2 {
            stream.write_all(b"hi").await.unwrap();
            timeout(SOON, stream.read_exact(&mut said)).await.expect("it is said back").unwrap();
            assert_eq!(wire.trips(), trip);
        }
        wire.is(Condition::Stalled);
        tokio::time::sleep(Duration::from_millis(20)).await;
        stream.write_all(b"yo").await.unwrap();
        let mut other = TcpStream::connect(wire.address).await.expect("it is accepted");
        other.write_all(b"ho").await.unwrap();
        assert!(timeout(Duration::from_millis(100), stream.read_exact(&mut said)).await.is_err());
        assert!(timeout(Duration::from_millis(100), other.read_exact(&mut said)).await.is_err());
        wire.is(Condition::Up);
        for stream in [&mut stream, &mut other] {
            timeout(SOON, stream.read_exact(&mut said)).await.expect("it arrives later").unwrap();
        }
        wire.is(Condition::Refused);
        assert_eq!(timeout(SOON, stream.read(&mut said)).await.expect("it is closed").unwrap_or(0), 0);
        while TcpStream::connect(wire.address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        wire.is(Condition::Up);
        while TcpStream::connect(wire.address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
