//! What a store or a bus of your own must do, as tests: run them against it, and they panic where it
//! does something else, with the rule it breaks.
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
//! Every rule is given a store of its own, but what is in it already does not matter: ids are made up as
//! they are needed, so a database can be used that others use, too. Some rules wait for something to
//! expire; all of them together take a few seconds.

mod bus;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
mod sessions;
mod tasks;

use std::time::Duration;

pub use bus::bus;
#[cfg(feature = "http")]
pub use events::events;
#[cfg(feature = "http")]
pub use sessions::sessions;
pub use tasks::tasks;

/// How long a rule may take.
const LONG: Duration = Duration::from_secs(20);

/// What was seen instead of what should be.
struct Broken(String);

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Broken(format!("it failed: {error}"))
    }
}

type Verdict = Result<(), Broken>;

/// Gives the reason why a rule is broken, unless something is so.
macro_rules! ensure {
    ($so:expr, $($why:tt)+) => {
        if !$so {
            return Err($crate::testing::contract::Broken(format!($($why)+)));
        }
    };
}
use ensure;

/// Checks one rule.
async fn rule(name: &str, check: impl Future<Output = Verdict>) {
    let late = |_| Err(Broken(format!("it takes longer than {LONG:?}")));
    if let Err(Broken(why)) = tokio::time::timeout(LONG, check).await.unwrap_or_else(late) {
        panic!("the rule “{name}” is broken: {why}");
    }
}

/// A name nobody else has used, in the letters of session ids.
fn fresh() -> String {
    crate::random::id().expect("the operating system has randomness")
}
