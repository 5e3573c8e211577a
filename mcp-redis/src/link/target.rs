//! The server to connect to: one with an address, or the one that Sentinels name.
//! <https://redis.io/docs/latest/develop/reference/sentinel-clients/>

use std::io;

use redis::{Client, ConnectionAddr, ConnectionInfo, RedisError, RedisResult};
use tokio::task::JoinSet;

use super::failure::Failures;

/// The server to connect to.
pub(crate) enum Target {
    Server(Client),
    Named {
        sentinels: Vec<Client>,
        name: String,
        /// How to connect, once the address is known.
        info: ConnectionInfo,
        root_certificate: Option<Vec<u8>>,
    },
}

impl Target {
    /// The server at this address; if there are Sentinels, the one whose name is the host.
    pub(crate) fn new(
        info: ConnectionInfo,
        sentinels: &[String],
        root_certificate: Option<Vec<u8>>,
    ) -> RedisResult<Self> {
        if sentinels.is_empty() {
            return make_client(info, root_certificate).map(Target::Server);
        }
        // Checked now, so that a certificate that cannot be read is not told later.
        make_client(info.clone(), root_certificate.clone())?;
        let sentinels = sentinels.iter().map(|url| Client::open(url.as_str())).collect::<RedisResult<_>>()?;
        let name = match info.addr() {
            ConnectionAddr::Tcp(name, _) | ConnectionAddr::TcpTls { host: name, .. } => name.clone(),
            other => other.to_string(),
        };
        Ok(Target::Named { sentinels, name, info, root_certificate })
    }

    /// A client of the server, which may be another one than the last time.
    pub(crate) async fn client(&self, failures: &Failures) -> io::Result<Client> {
        let (sentinels, name, info, root_certificate) = match self {
            Target::Server(client) => return Ok(client.clone()),
            Target::Named { sentinels, name, info, root_certificate } => (sentinels, name, info, root_certificate),
        };
        // All are asked, because one that is away would take the time of the others. The rest is dropped with `asked`.
        let mut asked = JoinSet::new();
        for sentinel in sentinels {
            asked.spawn(ask(sentinel.clone(), name.clone()));
        }
        let mut reason = "they do not know it".to_owned();
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some((found, port)))) => {
                    let address = match info.addr().clone() {
                        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                            ConnectionAddr::TcpTls { host: found, port, insecure, tls_params }
                        }
                        _ => ConnectionAddr::Tcp(found, port),
                    };
                    let client = make_client(info.clone().set_addr(address), root_certificate.clone());
                    return client.map_err(|error| failures.of(&error));
                }
                Ok(Ok(None)) | Err(_) => {}
                Ok(Err(error)) => reason = error.to_string(),
            }
        }
        let text =
            format!("no Sentinel names the primary {name:?}; correct the name or the Sentinels' URLs ({reason})");
        Err(failures.error(io::ErrorKind::NotConnected, &text))
    }
}

/// Asks a Sentinel for the address of a primary.
async fn ask(sentinel: Client, name: String) -> Result<Option<(String, u16)>, RedisError> {
    let mut connection = sentinel.get_multiplexed_async_connection().await?;
    redis::cmd("SENTINEL").arg("get-master-addr-by-name").arg(name).query_async(&mut connection).await
}

#[cfg(feature = "tls")]
fn make_client(info: ConnectionInfo, root_certificate: Option<Vec<u8>>) -> RedisResult<Client> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // If another thread is faster, its provider is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    match root_certificate {
        None => Client::open(info),
        root_cert => Client::build_with_tls(info, redis::TlsCertificates { client_tls: None, root_cert }),
    }
}

#[cfg(not(feature = "tls"))]
fn make_client(info: ConnectionInfo, _: Option<Vec<u8>>) -> RedisResult<Client> {
    Client::open(info)
}

/// Omits URLs, which may have passwords.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}
