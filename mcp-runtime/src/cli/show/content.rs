//! The contents of results: texts are printed, images and blobs go to files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::text::clean;
use crate::cli::error::CliError;
use crate::cli::terminal::Terminal;

/// Where contents go.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    pub(crate) terminal: Terminal,
    /// The file or directory that was asked for.
    pub(crate) out: Option<&'a Path>,
    /// What files are named after.
    pub(crate) stem: &'a str,
}

impl Sink<'_> {
    /// Shows a content block of a tool's result or a prompt's message.
    pub(crate) fn block(&self, block: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => self.text(text("text"), to),
            "image" | "audio" => self.file(text("data"), text("mimeType"), to),
            "resource" => self.resource(&block["resource"], to),
            "resource_link" => {
                let name = block["title"].as_str().or_else(|| block["name"].as_str()).unwrap_or_default();
                self.text(&format!("{} ({name})", text("uri")), to)
            }
            // A kind that this version does not know: the person may.
            _ => self.text(&block.to_string(), to),
        }
    }

    /// Shows the contents of a resource.
    pub(crate) fn resource(&self, contents: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        match contents["blob"].as_str() {
            Some(data) => self.file(data, contents["mimeType"].as_str().unwrap_or_default(), to),
            None => self.text(contents["text"].as_str().unwrap_or_default(), to),
        }
    }

    /// Shows a text, on lines of its own.
    pub(crate) fn text(&self, text: &str, to: &mut dyn Write) -> Result<(), CliError> {
        let text = clean(self.terminal, text);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        written(write!(to, "{text}{end}"))
    }

    /// Shows JSON, indented.
    pub(crate) fn json(&self, value: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        self.text(&serde_json::to_string_pretty(value).unwrap_or_default(), to)
    }

    /// Writes bytes to a file, never over another unless it was named.
    fn file(&self, data: &str, mime: &str, to: &mut dyn Write) -> Result<(), CliError> {
        let bytes = BASE64.decode(data).map_err(|error| CliError::protocol(format!("invalid base64: {error}")))?;
        let path =
            self.save(&bytes, mime).map_err(|error| CliError::failed(format!("cannot write a file: {error}")))?;
        let kind = if mime.is_empty() { "binary" } else { mime };
        let note = format!("{} ({kind}, {} bytes)", path.display(), bytes.len());
        written(writeln!(to, "{}", clean(self.terminal, &note)))
    }

    fn save(&self, bytes: &[u8], mime: &str) -> io::Result<PathBuf> {
        if let Some(out) = self.out.filter(|out| !out.is_dir()) {
            std::fs::write(out, bytes)?;
            return Ok(out.to_owned());
        }
        let directory = self.out.unwrap_or(Path::new("."));
        let (stem, extension) = (file_stem(self.stem), extension(mime));
        for number in 1..10_000 {
            let path = directory.join(format!("{stem}-{number}.{extension}"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => return file.write_all(bytes).map(|()| path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("there are too many files {stem}-N.{extension}: name one with `--out FILE`")))
    }
}

/// A reader that closes its end, as `head` does, has seen enough.
pub(crate) fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// A name as part of a file's name: names come from the server.
fn file_stem(name: &str) -> String {
    let safe: String =
        name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).take(60).collect();
    let safe = safe.trim_matches('-');
    if safe.is_empty() { "result".to_owned() } else { safe.to_owned() }
}

fn extension(mime: &str) -> &str {
    match mime.split(';').next().unwrap_or_default() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/plain" => "txt",
        _ => "bin",
    }
}
