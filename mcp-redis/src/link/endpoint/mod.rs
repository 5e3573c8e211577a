//! The server to connect to: one with an address, the one that Sentinels name, or a node of a cluster.
//! <https://redis.io/docs/latest/develop/reference/sentinel-clients/>

pub(crate) mod cluster_url;
pub(crate) mod seeds;
pub(crate) mod sentinel_url;
mod url;

use std::io;
use std::sync::Arc;

use redis::{Client, ConnectionAddr, ConnectionInfo, RedisError, RedisResult};
use tokio::task::JoinSet;

use self::seeds::{Address, Seeds};
use super::failure::Failures;

/// The server to connect to.
pub(crate) enum Endpoint {
    Server(Client),
    Named {
        sentinels: Vec<Client>,
        name: String,
        template: Template,
    },
    /// Any node of a cluster.
    AnyNode {
        seeds: Arc<Seeds>,
        template: Template,
    },
    /// This node of a cluster.
    Node(Client),
}

/// How to connect, once the address is known.
#[derive(Clone)]
pub(crate) struct Template {
    info: ConnectionInfo,
    root_certificate: Option<Vec<u8>>,
}

impl Template {
    fn at(&self, address: &Address) -> RedisResult<Client> {
        let Address { host, port } = address.clone();
        let address = match self.info.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure, tls_params }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        make_client(self.info.clone().set_addr(address), self.root_certificate.clone())
    }
}

impl Endpoint {
    /// The server at this address; if there are Sentinels, the one whose name is the host; if there are seeds, any node.
    pub(crate) fn new(
        info: &ConnectionInfo,
        sentinels: &[String],
        seeds: Option<Arc<Seeds>>,
        root_certificate: Option<Vec<u8>>,
    ) -> RedisResult<Self> {
        // Also checked if it is not used, so that a certificate that cannot be read is not told later.
        let client = make_client(info.clone(), root_certificate.clone())?;
        let template = Template { info: info.clone(), root_certificate };
        if let Some(seeds) = seeds {
            return Ok(Endpoint::AnyNode { seeds, template });
        }
        if sentinels.is_empty() {
            return Ok(Endpoint::Server(client));
        }
        let sentinels = sentinels.iter().map(|url| Client::open(url.as_str())).collect::<RedisResult<_>>()?;
        let name = match info.addr() {
            ConnectionAddr::Tcp(name, _) | ConnectionAddr::TcpTls { host: name, .. } => name.clone(),
            other => other.to_string(),
        };
        Ok(Endpoint::Named { sentinels, name, template })
    }

    /// One node of the cluster that this is any node of.
    pub(crate) fn node(&self, address: &Address) -> RedisResult<Option<Self>> {
        match self {
            Endpoint::AnyNode { template, .. } => Ok(Some(Endpoint::Node(template.at(address)?))),
            _ => Ok(None),
        }
    }

    /// A client of the server, which may be another one than the last time.
    pub(crate) async fn client(&self, failures: &Failures) -> io::Result<Client> {
        let (sentinels, name, template) = match self {
            Endpoint::Server(client) | Endpoint::Node(client) => return Ok(client.clone()),
            Endpoint::AnyNode { seeds, template } => {
                return seeds.working_node(|address| template.at(address), failures).await;
            }
            Endpoint::Named { sentinels, name, template } => (sentinels, name, template),
        };
        // All are asked, because one that is away would take the time of the others. The rest is dropped with `asked`.
        let mut asked = JoinSet::new();
        for sentinel in sentinels {
            asked.spawn(ask(sentinel.clone(), name.clone()));
        }
        let mut reason = "they do not know it".to_owned();
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some((host, port)))) => {
                    return template.at(&Address { host, port }).map_err(|error| failures.of(&error));
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
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}
