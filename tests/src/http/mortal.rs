//! A replica that can die.

use mcp_runtime::http::HttpService;
use tokio::runtime::{Builder, Runtime};

use super::Site;

/// A replica in a runtime of its own, which can die with everything it does.
#[derive(Debug)]
pub struct Mortal {
    /// Where it listens.
    pub site: Site,
    runtime: Option<Runtime>,
}

impl Mortal {
    /// Serves a service.
    pub async fn serving(service: HttpService) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let site = runtime.spawn(Site::serving(service)).await.unwrap();
        Mortal { site, runtime: Some(runtime) }
    }

    /// Ends at once, without a word.
    pub fn dies(self) {
        drop(self);
    }
}

/// Does not wait for what it does.
impl Drop for Mortal {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
