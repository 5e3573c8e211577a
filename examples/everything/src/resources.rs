//! Resources of every kind.

use mcp_runtime::{Json, prelude::*};
use serde::Serialize;

use crate::content::PNG;

/// A text.
#[resource("test://static-text", mime = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A picture.
#[resource("test://static-binary", mime = "image/png")]
fn static_binary() -> Vec<u8> {
    PNG.to_vec()
}

/// A text with subscriptions.
#[resource("test://watched-resource", mime = "text/plain", subscribe)]
fn watched_resource() -> &'static str {
    "Watch me."
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Data {
    id: String,
    template_test: bool,
    data: String,
}

/// Data about an id.
#[resource("test://template/{id}/data", mime = "application/json")]
fn template(id: String) -> Json<Data> {
    let data = format!("Data for ID: {id}");
    Json(Data { id, template_test: true, data })
}

pub fn resources() -> [Resource; 4] {
    resources![static_text, static_binary, watched_resource, template]
}
