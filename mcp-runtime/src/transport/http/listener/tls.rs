//! TLS: a connection is handed to a function of the application, which makes the handshake.
//!
//! A handshake is a part of its connection: it has a place below `Limits::connections`, it counts as one that has sent no
//! request yet, and so it is the first to be closed when the limit is reached, and in any case after `request_timeout`.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use super::socket::Listener;
use super::{HttpService, log_url};
use crate::error::{Result, ServerError};

impl HttpService {
    /// Like [`serve_on`](Self::serve_on), over TLS: `accept` makes the handshake of a connection, with any implementation
    /// of TLS. With `tokio-rustls`:
    ///
    /// ```ignore
    /// let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    /// service.serve_tls(listener, move |stream| acceptor.accept(stream)).await
    /// ```
    ///
    /// Handshakes take at most [`Limits::request_timeout`](crate::Limits::request_timeout), and are connections among
    /// [`Limits::connections`](crate::Limits::connections). A handshake that fails closes its connection; the log has it at
    /// level debug. The service speaks HTTP/1.1: offer `http/1.1` alone, if the implementation negotiates protocols (ALPN).
    pub async fn serve_tls<L, A, F, S>(self, listener: L, accept: A) -> Result<(), ServerError>
    where
        L: Listener,
        A: Fn(L::Stream) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Boxed: it is large, and done before the connection is.
        self.serve_with(listener, "https", log_url, move |stream| Box::pin(accept(stream))).await
    }
}
