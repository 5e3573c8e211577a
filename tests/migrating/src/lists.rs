//! Lists in pages, how long clients may keep them, and what a schema says.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_router};

#[derive(Clone)]
pub struct Kitchen {
    pub recipes: Vec<String>,
}

impl ServerHandler for Kitchen {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_resources().build())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor).unwrap_or("0".into());
        let rest = cursor.parse().ok().and_then(|start: usize| Some((start, self.recipes.get(start..)?)));
        let (start, rest) = rest.ok_or_else(|| ErrorData::invalid_params("unknown cursor", None))?;
        let page = rest.iter().take(2).map(|name| Resource::new(format!("recipe://{name}"), name));
        let mut page = ListResourcesResult::with_all_items(page.collect());
        page.next_cursor = (rest.len() > 2).then(|| (start + 2).to_string());
        Ok(page.with_ttl_ms(60_000).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = vec![ResourceContents::text("Boil it.", &request.uri)];
        Ok(ReadResourceResult::new(contents).with_ttl_ms(5_000).with_cache_scope(CacheScope::Private).into())
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SearchParams {
    /// What it is made of.
    ingredient: String,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

#[derive(Clone)]
pub struct Cookbook;

#[tool_router(server_handler)]
impl Cookbook {
    #[tool(description = "Search recipes.")]
    fn search(&self, Parameters(args): Parameters<SearchParams>) -> Json<Vec<String>> {
        let found = vec![format!("{} soup", args.ingredient); args.limit.unwrap_or(1) as usize];
        Json(found)
    }
}
