//! A running server: immutable, and shared by every connection, call and task.

use std::sync::Arc;
#[cfg(all(feature = "auth", feature = "http"))]
use std::sync::OnceLock;

use super::hooks::Hooks;
use super::memory::MemoryBudget;
use super::state::ServerState;
use crate::ask::OnceClaims;
use crate::ask::sealed_state::StateSealer;
#[cfg(feature = "auth")]
use crate::auth::access::Access;
#[cfg(all(feature = "auth", feature = "http"))]
use crate::auth::access::AccessPolicy;
use crate::call::run::BlockingThreads;
use crate::call::telemetry::watch::Watcher;
use crate::era::server_info::ServerInfo;
use crate::limits::Limits;
use crate::store::sweeper::Sweeper;
use crate::task::Tasks;
use crate::throttle::limiter::Limiter;
use crate::throttle::table::RateTables;

/// A fully configured server, shared by all transports that serve it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) info: ServerInfo,
    pub(crate) limits: Limits,
    /// How often requests are served, if that is limited.
    pub(crate) rate_limits: Option<Box<dyn Limiter>>,
    /// What callers have used of these limits, and of those of handlers.
    pub(crate) rate_tables: RateTables,
    pub(crate) hooks: Hooks,
    /// Who is told of requests, if anybody is.
    pub(crate) watcher: Option<Arc<dyn Watcher>>,
    /// What the caller may do who has started the server, if there are rules.
    #[cfg(feature = "auth")]
    pub(crate) local_access: Option<Access>,
    /// The rules for callers over HTTP, once there are some.
    #[cfg(all(feature = "auth", feature = "http"))]
    pub(crate) remote_policy: OnceLock<Arc<AccessPolicy>>,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has clients who do not trust each other"))]
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) blocking_threads: BlockingThreads,
    pub(crate) secrets: Arc<StateSealer>,
    /// The `once` blocks of calls that ask in rounds.
    pub(crate) once: Arc<dyn OnceClaims>,
    pub(crate) tasks: Tasks,
    /// Sweeps every table whose entries expire.
    pub(crate) sweeper: Arc<Sweeper>,
    pub(crate) shared: Arc<ServerState>,
}
