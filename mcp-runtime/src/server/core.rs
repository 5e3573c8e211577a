//! A server that is being served: immutable, and shared by every connection, call and task.

use std::sync::Arc;

use super::hooks::Hooks;
use super::state::Shared;
use crate::ask::sealed_state::Secrets;
use crate::call::run::Threads;
use crate::era::server_info::ServerInfo;
use crate::limits::Limits;
use crate::task::Tasks;

/// A server being served: complete and shared by everything that serves it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) info: ServerInfo,
    pub(crate) limits: Limits,
    pub(crate) hooks: Hooks,
    pub(crate) threads: Threads,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) tasks: Tasks,
    pub(crate) shared: Arc<Shared>,
}
