//! A print shop with several replicas.
//!
//! Nothing here knows of the others: what they share is in the backend that `main.rs` adds. A handler is written as for one
//! process, and keeps what has to outlive it elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Copies {
    /// How many copies?
    #[schemars(range(min = 1, max = 100))]
    copies: u8,
}

/// One of the replicas. Its name is only for people to see who does what.
struct Replica {
    name: String,
}

#[handlers]
impl Replica {
    /// Tell which replica answers.
    #[tool(read_only)]
    fn who(&self) -> &str {
        &self.name
    }

    /// Order prints of a document, after asking the user how many.
    #[tool(requires(elicitation))]
    async fn order(
        &self,
        ctx: &Context,
        /// The title of the document.
        title: String,
    ) -> Result<String> {
        // The answer may reach another replica. It finds its way to this one.
        let Copies { copies } = ctx.elicit(format!("How many copies of {title}?")).await?;
        Ok(format!("{copies} copies of {title}, ordered at {}", self.name))
    }

    /// Render a document page by page, which takes half a second for each.
    #[tool(task, durable)]
    async fn render(
        &self,
        ctx: &Context,
        /// How many pages it has.
        #[arg(min = 1, max = 100)]
        pages: u32,
    ) -> Result<String> {
        let mut by = BTreeMap::<String, u32>::new();
        for page in 1..=pages {
            // What was done is remembered, and not done again.
            let name = ctx.once(&format!("page {page}"), async { Ok(self.render_page(page).await) }).await?;
            ctx.progress_message(page, pages, &format!("page {page} of {pages}, by {name}")).await;
            *by.entry(name).or_default() += 1;
        }
        let shares: Vec<String> = by.iter().map(|(name, pages)| format!("{pages} by {name}")).collect();
        Ok(format!("{pages} pages: {}", shares.join(", ")))
    }
}

impl Replica {
    /// Returns who has done it.
    async fn render_page(&self, _page: u32) -> String {
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.name.clone()
    }
}

/// The server of one replica, which is called so.
pub fn server(replica: impl Into<String>) -> Server {
    Server::new("print-shop", env!("CARGO_PKG_VERSION"))
        .instructions("`order` prints, or `render` a document; `who` tells which replica answers.")
        .mount(Replica { name: replica.into() })
}
