//! An in-memory client for tests: it uses a server the way a real client would.
//!
//! [`TestClient`] connects to a [`Server`](crate::Server) without a process or a socket, in any revision.
//! [`assert_contract!`] compares what a server offers with a file that is checked in.
//! [`contract`] checks implementations of the [store](crate::store) traits.

mod assert_contract;
pub mod contract;

#[doc(hidden)]
pub use assert_contract::__assert_contract;
pub use assert_contract::{ContractOptions, contract_of};

pub use crate::client::{
    Call, CallResponse, Changes, CompletionResponse, ElicitReply, ElicitRequest, LogMessage, Message, Observed,
    ProgressNote, PromptResponse, ReadContents, ReadResponse, SampleReply, Task, TaskState, TestClient,
    TestClientBuilder,
};

#[doc(inline)]
#[doc = include_str!("../../docs/contract.md")]
///
/// [`LintOptions::allow`]: crate::lint::LintOptions::allow
/// [`Server::lint`]: crate::Server::lint
/// [`lint`]: crate::lint
pub use crate::__assert_contract as assert_contract;
