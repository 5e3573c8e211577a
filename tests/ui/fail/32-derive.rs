//! Row 32: `#[derive(Resource)]` where it cannot be, without a URI, with a `{field}` that is none.
use mcp_runtime::prelude::*;
use serde::Serialize;

#[derive(Serialize, Resource)]
#[resource(uri = "state://{id}")]
enum State {
    On,
}

#[derive(Clone, Copy, Resource)]
#[resource(uri = "bits://all")]
union Bits {
    whole: u64,
    half: u32,
}

#[derive(Serialize, Resource)]
#[resource(uri = "page://{id}")]
struct Page<T> {
    id: u64,
    body: T,
}

#[derive(Serialize, Resource)]
struct Nowhere {
    theme: String,
}

#[derive(Serialize, Resource)]
#[resource(uri = "note://{number}", name = "note-{nr}", title = "{tilte}")]
struct Note {
    id: u64,
    title: String,
}

#[derive(Serialize, Resource)]
#[resource(uri = "note://{id")]
struct Unclosed {
    id: u64,
}

#[derive(Serialize, Resource)]
#[resource(uri = "notes/{id}")]
struct NoScheme {
    id: u64,
}

#[derive(Resource)]
#[resource(uri = "page://{slug}")]
struct TwoBodies {
    slug: String,
    #[resource(text)]
    body: String,
    #[resource(blob)]
    image: Vec<u8>,
}

fn main() {
    let (id, text) = (1, String::new);
    let _ = Server::new("s", "1")
        .resource(State::On)
        .resource(Bits { whole: 1 })
        .resource(Page { id, body: 5 })
        .resource(Nowhere { theme: text() })
        .resource(Note { id, title: text() })
        .resource(Unclosed { id })
        .resource(NoScheme { id })
        .resource(TwoBodies { slug: text(), body: text(), image: Vec::new() });
}
