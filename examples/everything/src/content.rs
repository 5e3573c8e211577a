//! Tools that return each kind of content.

use mcp_runtime::prelude::*;
use mcp_runtime::protocol::ResourceContents;

/// A picture of one red pixel.
pub const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 8, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0,
    3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// An empty sound.
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";

/// Returns a simple text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool]
fn test_image_content() -> Content {
    Content::image(PNG, "image/png")
}

/// Returns a sound.
#[tool]
fn test_audio_content() -> Content {
    Content::audio(WAV, "audio/wav")
}

/// Returns a resource inside its result.
#[tool]
fn test_embedded_resource() -> Content {
    let contents = ResourceContents::text("This is an embedded resource content.");
    Content::resource(contents.with_uri("test://embedded-resource").with_mime("text/plain"))
}

/// Returns a text, an image and a resource.
#[tool]
fn test_multiple_content_types() -> Vec<Content> {
    let resource = ResourceContents::text(r#"{"test":"data","value":123}"#);
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::resource(resource.with_uri("test://mixed-content-resource").with_mime("application/json")),
    ]
}

/// Always fails.
#[tool]
fn test_error_handling() -> Result<String> {
    Err(Error::msg("This tool intentionally returns an error for testing"))
}

/// Takes an argument that the client repeats in a header.
#[tool]
fn test_custom_header(
    /// Any text.
    #[arg(header = "Value")]
    value: String,
) -> String {
    value
}

pub fn tools() -> [Tool; 7] {
    tools![
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_custom_header,
    ]
}
