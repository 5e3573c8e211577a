//! Row 42: a return value that borrows, of a type that cannot be returned.
use std::borrow::Cow;

use mcp_runtime::{Json, prelude::*};

#[derive(Clone)]
struct Config {
    theme: String,
}

struct App {
    config: Config,
}

#[handlers]
impl App {
    #[tool]
    fn sync(&self) -> &Config {
        &self.config
    }

    #[tool]
    async fn later(&self) -> Option<&Config> {
        Some(&self.config)
    }

    #[tool(blocking)]
    fn slow(&self) -> Cow<'_, Config> {
        Cow::Borrowed(&self.config)
    }

    #[tool]
    fn json(&self) -> Json<&Config> {
        Json(&self.config)
    }

    #[tool]
    async fn json_later(&self) -> Result<Json<&Config>> {
        Ok(Json(&self.config))
    }

    #[prompt]
    fn prompt(&self) -> &[u8] {
        self.config.theme.as_bytes()
    }

    #[resource("config://one")]
    fn resource(&self) -> &Config {
        &self.config
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(App { config: Config { theme: String::new() } });
}
