//! Where the lines of calls go that had to wait, and what they tell before: an outbox everybody
//! shares, or a stream of a request's own.

use std::cell::OnceCell;

use tokio::sync::mpsc;

/// How many lines may wait for the client to read.
const LINES: usize = 64;

/// The way of lines from calls to their client.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// One for all calls of a connection.
    Shared(mpsc::Sender<Vec<u8>>),
    /// One for this request, made when a call needs it.
    Own(OnceCell<(mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>)>),
}

impl Outlet {
    /// The way of a connection with one stream, and its other end.
    pub(crate) fn shared() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sender, lines) = mpsc::channel(LINES);
        (Outlet::Shared(sender), lines)
    }

    /// The way of one request.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "on stdio there is one stream"))]
    pub(crate) fn own() -> Self {
        Outlet::Own(OnceCell::new())
    }

    pub(crate) fn sender(&self) -> &mpsc::Sender<Vec<u8>> {
        match self {
            Outlet::Shared(sender) => sender,
            Outlet::Own(channel) => &channel.get_or_init(|| mpsc::channel(LINES)).0,
        }
    }

    /// The other end of a request's own stream, if a call needed one. It is over when all of them are.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "on stdio there is one stream"))]
    pub(crate) fn into_lines(self) -> Option<mpsc::Receiver<Vec<u8>>> {
        match self {
            Outlet::Shared(_) => None,
            Outlet::Own(channel) => channel.into_inner().map(|(_, lines)| lines),
        }
    }
}
