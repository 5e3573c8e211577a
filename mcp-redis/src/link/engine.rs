//! The engine: a background task that keeps the connection, and carries changes over it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::failure::breaks_connection;
use super::state::{Channels, Complaint, Connection, Shared, State};
use super::subscriptions::Subscriptions;

/// How often a server that is not used is asked whether it is there: nobody else would notice that changes stay away.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long publishing pauses after a failure.
const PUBLISH_PAUSE: Duration = Duration::from_millis(250);

/// Keeps the connection, and carries changes over it, if it is the one for that.
pub(super) async fn engine_of(shared: Arc<Shared>, first: Option<Connection>) {
    match &shared.channels {
        None => supervise(&shared, first).await,
        Some(channels) => {
            let carry = async {
                tokio::join!(channels.changes.deliver(), publish(&shared, channels), listen(&shared, channels))
            };
            tokio::join!(supervise(&shared, first), carry);
        }
    }
}

/// Publishes changes as they are queued.
async fn publish(shared: &Shared, channels: &Channels) {
    let (mut state, mut warned) = (shared.state.subscribe(), false);
    loop {
        channels.changes.queued().await;
        let is_up = state.wait_for(|state| matches!(state, State::Up(_))).await.map(|up| up.clone());
        let Ok(State::Up(mut connection)) = is_up else { return };
        let Some((changes, message)) = channels.changes.next_message() else { continue };
        let sent = redis::cmd("PUBLISH").arg(&channels.name).arg(message).exec_async(&mut connection.redis).await;
        let Err(error) = sent else {
            warned = false;
            continue;
        };
        match () {
            () if error.is_timeout() => drop(shared.complain.try_send(Complaint::Slow)),
            () if breaks_connection(&error) => shared.lost(connection.number, &error.to_string()),
            () if warned => {}
            () => {
                warned = true;
                tracing::warn!(%error, "Redis rejects changes; other replicas are told of them later");
            }
        }
        channels.changes.restore(&changes);
        tokio::time::sleep(PUBLISH_PAUSE).await;
    }
}

/// Keeps the connection subscribed to the streams that are watched.
async fn listen(shared: &Shared, channels: &Channels) {
    let (mut state, mut subscriptions) = (shared.state.subscribe(), Subscriptions::default());
    loop {
        let is_up = state.wait_for(|state| matches!(state, State::Up(_))).await.map(|up| up.clone());
        let Ok(State::Up(mut connection)) = is_up else { return };
        if let Err(error) = subscriptions.adjust(&channels.hints, &mut connection.redis, connection.number).await {
            if breaks_connection(&error) {
                shared.lost(connection.number, &error.to_string());
            }
            tokio::time::sleep(PUBLISH_PAUSE).await;
            continue;
        }
        tokio::select! {
            () = channels.hints.watched_changed() => {}
            _ = state.changed() => {}
        }
    }
}

/// Waits until the connection is lost, and returns why.
async fn watch(shared: &Shared, connection: &mut Connection, complaints: &mut mpsc::Receiver<Complaint>) -> String {
    loop {
        match tokio::time::timeout(PING_INTERVAL, complaints.recv()).await {
            Ok(Some(Complaint::Broken(number, reason))) if number == connection.number => return reason,
            Ok(Some(Complaint::Broken(..))) => continue,
            Ok(Some(Complaint::Slow)) | Err(_) => {}
            Ok(None) => std::future::pending().await,
        }
        if let Err(error) = shared.dialer.ping(&mut connection.redis).await {
            return error.to_string();
        }
    }
}

/// Connects, and connects again when the connection is lost. One line in the log when the server goes away, and one when
/// it is back.
async fn supervise(shared: &Arc<Shared>, first: Option<Connection>) {
    let mut complaints = shared.complaints.lock().await;
    let address = &shared.dialer.failures.address;
    let mut number = first.as_ref().map_or(0, |first| first.number);
    let (mut current, mut away_since, mut pause) = (first, None::<Instant>, SHORTEST_PAUSE);
    loop {
        if let Some(connection) = &mut current {
            let begun = Instant::now();
            let reason = watch(shared, connection, &mut complaints).await;
            tracing::warn!(%address, %reason, "Redis is away; connecting again");
            shared.state.send_replace(State::Connecting);
            (current, away_since) = (None, Some(Instant::now()));
            // A server that hangs up on everybody is not asked without end.
            pause = if begun.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { grown(pause) };
            if pause > SHORTEST_PAUSE * 4 {
                shared.state.send_replace(State::Away(reason.into()));
                tokio::time::sleep(pause).await;
            }
        }
        number += 1;
        match shared.dial(number).await {
            Ok(connection) => {
                if let Some(since) = away_since.take() {
                    tracing::info!(%address, after = ?since.elapsed(), "Redis is back");
                }
                shared.up(connection.clone());
                current = Some(connection);
            }
            Err(error) => {
                if away_since.is_none() {
                    tracing::warn!(%address, reason = %error, "Redis is away; connecting again");
                }
                away_since.get_or_insert_with(Instant::now);
                shared.state.send_replace(State::Away(error.to_string().into()));
                tokio::time::sleep(pause).await;
                pause = grown(pause);
            }
        }
    }
}

fn grown(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}
