//! Contract tests for your own stores and buses. Each function checks an implementation rule by rule
//! and panics with the first rule it breaks.
//!
//! ```
//! use mcp_runtime::store::LocalBus;
//! use mcp_runtime::testing::contract;
//!
//! # #[tokio::main]
//! # async fn main() {
//! contract::bus(LocalBus::new).await;
//! # }
//! ```
//!
//! Each rule calls `make` for a store of its own. The stores may share a database, even one with other
//! data in it: all ids are random, and only the rules of [`tasks()`] may evict finished tasks of others. Some rules
//! wait for a record to expire, so a run takes a few seconds.

mod bus;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
mod inbox;
#[cfg(feature = "http")]
mod leases;
#[cfg(feature = "http")]
mod sessions;
#[cfg(feature = "http")]
mod task_holders;
mod task_quota;
mod task_samples;
mod tasks;

use std::time::Duration;

pub use bus::bus;
#[cfg(feature = "http")]
pub use events::events;
#[cfg(feature = "http")]
pub use inbox::inbox;
#[cfg(feature = "http")]
pub use leases::leases;
#[cfg(feature = "http")]
pub use sessions::sessions;
pub use tasks::tasks;

/// The time limit of a rule.
const RULE_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a rule is broken: the behaviour that was observed.
struct Broken(String);

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Broken(format!("the operation failed: {error}"))
    }
}

type Verdict = Result<(), Broken>;

/// Returns `Broken` with the reason, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => {
        if !$condition {
            return Err($crate::testing::contract::Broken(format!($($why)+)));
        }
    };
}
use ensure;

/// Checks one rule; panics if it is broken.
async fn rule(name: &str, check: impl Future<Output = Verdict>) {
    let late = |_| Err(Broken(format!("the check takes longer than {RULE_TIMEOUT:?}")));
    if let Err(Broken(why)) = tokio::time::timeout(RULE_TIMEOUT, check).await.unwrap_or_else(late) {
        panic!("the rule “{name}” is broken: {why}");
    }
}

/// A new random id, in the alphabet of session ids.
fn random_id() -> String {
    crate::random::id().expect("the operating system provides randomness")
}
