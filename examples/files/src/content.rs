//! Bytes of a file as text, an image or a blob; paths as URIs.

use std::path::Path;

use mcp_runtime::Content;
use mcp_runtime::protocol::ResourceContents;

/// The contents for a tool's result.
pub fn content(path: &str, bytes: Vec<u8>) -> Content {
    match String::from_utf8(bytes) {
        Ok(text) => Content::text(text),
        Err(binary) if mime(path, false).starts_with("image/") => Content::image(binary.as_bytes(), mime(path, false)),
        Err(binary) => Content::resource(contents(path, binary.into_bytes()).with_uri(uri(path))),
    }
}

/// The contents for a resource.
pub fn contents(path: &str, bytes: Vec<u8>) -> ResourceContents {
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text).with_mime(mime(path, true)),
        Err(binary) => ResourceContents::blob(binary.as_bytes()).with_mime(mime(path, false)),
    }
}

/// The media type, by the extension. A table of the usual ones; the crate `mime_guess` knows all.
fn mime(path: &str, is_text: bool) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match (is_text, &*extension.to_lowercase()) {
        (true, "css") => "text/css",
        (true, "csv") => "text/csv",
        (true, "html" | "htm") => "text/html",
        (true, "js" | "mjs") => "text/javascript",
        (true, "json") => "application/json",
        (true, "md") => "text/markdown",
        (true, "svg") => "image/svg+xml",
        (true, "xml") => "application/xml",
        (true, _) => "text/plain",
        (false, "gif") => "image/gif",
        (false, "jpg" | "jpeg") => "image/jpeg",
        (false, "png") => "image/png",
        (false, "webp") => "image/webp",
        (false, "pdf") => "application/pdf",
        (false, _) => "application/octet-stream",
    }
}

/// The URI of a file. Subscriptions compare URIs as text, so a file has one URI, percent-encoded as in RFC 3986.
pub fn uri(path: &str) -> String {
    let mut uri = String::from("files://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
