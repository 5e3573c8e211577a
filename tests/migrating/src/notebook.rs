//! State, resources, prompts and completion.

use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, prompt, prompt_handler, prompt_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    language: String,
}

#[derive(Clone)]
pub struct Notebook {
    notes: Vec<String>,
    prompt_router: PromptRouter<Self>,
}

#[prompt_router]
impl Notebook {
    pub fn new(notes: Vec<String>) -> Self {
        Self { notes, prompt_router: Self::prompt_router() }
    }

    #[prompt(description = "Ask for a review.")]
    async fn review(&self, Parameters(args): Parameters<Review>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Review my {} code.", args.language))]
    }
}

#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Notebook {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder().enable_prompts().enable_resources().enable_completions();
        ServerConfig::new(offered.build())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("note://{number}", "note");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let number = request.uri.strip_prefix("note://").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| self.notes.get(number.checked_sub(1)?)) {
            Some(note) => Ok(ReadResourceResult::new(vec![ResourceContents::text(note, &request.uri)]).into()),
            None => Err(ErrorData::resource_not_found("no such note", None)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let all: Vec<String> = match (&request.r#ref, request.argument.name.as_str()) {
            (Reference::Prompt(prompt), "language") if prompt.name == "review" => vec!["python".into(), "rust".into()],
            (Reference::Resource(template), "number") if template.uri == "note://{number}" => {
                (1..=self.notes.len()).map(|number| number.to_string()).collect()
            }
            _ => vec![],
        };
        let fitting = all.into_iter().filter(|value| value.starts_with(&request.argument.value)).collect();
        let info = CompletionInfo::with_all_values(fitting);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }
}

/// A prompt with more than text.
#[derive(Clone)]
pub struct Ops;

const SCREENSHOT: &[u8] = b"\x89PNG";

#[prompt_router]
impl Ops {
    #[prompt(description = "Ask what is wrong on a screen.")]
    async fn explain(&self) -> GetPromptResult {
        let (uri, mime, text) = ("log://app", "text/plain", "12:00 out of memory");
        GetPromptResult::new(vec![
            PromptMessage::new_text(Role::User, "What went wrong?"),
            PromptMessage::new_image(Role::User, SCREENSHOT, "image/png", None, None),
            PromptMessage::new_resource(Role::User, uri.into(), Some(mime.into()), Some(text.into()), None, None, None),
        ])
        .with_description("What went wrong, with a picture and the log")
    }
}

#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Ops {}
