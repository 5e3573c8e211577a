//! The connections of a listener: so many, and who makes room when there are that many.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinSet};

/// How long to wait for those who were asked to leave, before others are asked.
const SOON: Duration = Duration::from_millis(20);

/// The connections there are.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    tasks: JoinSet<()>,
    /// Those that can be asked to leave; no more than tasks.
    taken: HashMap<Id, Taken>,
}

#[derive(Debug)]
struct Taken {
    idle: Arc<AtomicBool>,
    leave: oneshot::Sender<()>,
}

/// What a connection knows of its place.
#[derive(Debug)]
pub(super) struct Seat {
    /// Whether nobody uses it: it has served, and waits for the next request. One that is new is not.
    pub(super) idle: Arc<AtomicBool>,
    /// Told when somebody else wants the place, or the server is about to end.
    pub(super) leave: oneshot::Receiver<()>,
}

impl Seats {
    pub(super) fn new(most: usize) -> Self {
        Seats { most: most.max(1), tasks: JoinSet::new(), taken: HashMap::new() }
    }

    /// Waits until there may be one more. Meanwhile those who are idle make room.
    pub(super) async fn room(&mut self) {
        while let Some(done) = self.tasks.try_join_next_with_id() {
            self.left(done);
        }
        while self.tasks.len() >= self.most {
            self.ask_to_leave();
            // Who is busy now may be idle soon.
            if let Ok(Some(done)) = tokio::time::timeout(SOON, self.tasks.join_next_with_id()).await {
                self.left(done);
            }
        }
    }

    /// Asks some of those who are idle to leave; not all, for they would all come back.
    pub(super) fn ask_to_leave(&mut self) {
        let idle = self.taken.iter().filter(|(_, taken)| taken.idle.load(Ordering::Relaxed));
        let some: Vec<Id> = idle.map(|(id, _)| *id).take(self.most.div_ceil(16)).collect();
        for taken in some.iter().filter_map(|id| self.taken.remove(id)) {
            // Or it has left already.
            let _ = taken.leave.send(());
        }
    }

    /// Asks everybody to leave.
    pub(super) fn dismiss(&mut self) {
        for (_, taken) in self.taken.drain() {
            let _ = taken.leave.send(());
        }
    }

    /// Gives a place to a connection, for as long as it is served.
    pub(super) fn take<F>(&mut self, serve: impl FnOnce(Seat) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (leave, told) = oneshot::channel();
        let idle = Arc::default();
        let task = self.tasks.spawn(serve(Seat { idle: Arc::clone(&idle), leave: told }));
        self.taken.insert(task.id(), Taken { idle, leave });
    }

    /// Waits until all have left.
    pub(super) async fn empty(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn left(&mut self, done: Result<(Id, ()), JoinError>) {
        self.taken.remove(&done.map_or_else(|error| error.id(), |(id, ())| id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that stays until it is asked to leave.
    async fn stays(seat: Seat) {
        let _ = seat.leave.await;
    }

    #[tokio::test]
    async fn only_who_is_idle_is_asked_to_leave() {
        let mut seats = Seats::new(2);
        let mut flags = Vec::new();
        for _ in 0..2 {
            seats.room().await;
            seats.take(|seat| {
                flags.push(Arc::clone(&seat.idle));
                stays(seat)
            });
        }
        assert!(tokio::time::timeout(SOON * 3, seats.room()).await.is_err(), "nobody is idle");
        assert_eq!(seats.tasks.len(), 2);
        flags[1].store(true, Ordering::Relaxed);
        seats.room().await;
        assert_eq!((seats.tasks.len(), seats.taken.len()), (1, 1), "who has left is forgotten");
    }

    #[tokio::test]
    async fn who_panics_has_left() {
        let mut seats = Seats::new(1);
        seats.take(|_| async { panic!("a secret") });
        seats.room().await;
        assert_eq!((seats.tasks.len(), seats.taken.len()), (0, 0));
    }
}
