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

/// Where contents go: texts to a stream and the rest to files, or everything to files if a place was named.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    terminal: Terminal,
    /// The file or directory that was asked for.
    out: Option<&'a Path>,
    /// What files are named after.
    stem: &'a str,
    /// Which kind of contents the named file has by now.
    named: Option<Kind>,
}

/// The kind of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Binary,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(terminal: Terminal, out: Option<&'a Path>, stem: &'a str) -> Self {
        Sink { terminal, out, stem, named: None }
    }

    /// Shows the content blocks of a tool's result or a prompt's message.
    pub(crate) fn blocks<'b>(
        &mut self,
        blocks: impl IntoIterator<Item = &'b Value>,
        to: &mut dyn Write,
    ) -> Result<(), CliError> {
        let mut blocks: Vec<&Value> = blocks.into_iter().collect();
        if self.out.is_some() {
            // `--out logo.png` names the picture, not the words beside it.
            blocks.sort_by_key(|block| !is_binary(block));
        }
        blocks.into_iter().try_for_each(|block| self.block(block, to))
    }

    fn block(&mut self, block: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => self.text(text("text"), to),
            "image" | "audio" => self.binary(text("data"), text("mimeType"), to),
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
    pub(crate) fn resource(&mut self, contents: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        let mime = contents["mimeType"].as_str().unwrap_or_default();
        match contents["blob"].as_str() {
            Some(data) => self.binary(data, mime, to),
            None => self.text_of(contents["text"].as_str().unwrap_or_default(), mime, to),
        }
    }

    /// Shows a text, on lines of its own.
    pub(crate) fn text(&mut self, text: &str, to: &mut dyn Write) -> Result<(), CliError> {
        self.text_of(text, "text/plain", to)
    }

    /// Shows JSON, indented.
    pub(crate) fn json(&mut self, value: &Value, to: &mut dyn Write) -> Result<(), CliError> {
        self.text_of(&serde_json::to_string_pretty(value).unwrap_or_default(), "application/json", to)
    }

    fn text_of(&mut self, text: &str, mime: &str, to: &mut dyn Write) -> Result<(), CliError> {
        if self.out.is_some() {
            let mime = if extension(mime) == "bin" { "text/plain" } else { mime };
            return self.file(text.as_bytes(), Kind::Text, mime, to);
        }
        let text = clean(self.terminal, text);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        written(write!(to, "{text}{end}"))
    }

    fn binary(&mut self, data: &str, mime: &str, to: &mut dyn Write) -> Result<(), CliError> {
        let bytes = BASE64.decode(data).map_err(|error| CliError::protocol(format!("invalid base64: {error}")))?;
        self.file(&bytes, Kind::Binary, mime, to)
    }

    /// Writes bytes to a file, never over another unless it was named, and says to which.
    fn file(&mut self, bytes: &[u8], kind: Kind, mime: &str, to: &mut dyn Write) -> Result<(), CliError> {
        let path =
            self.save(bytes, kind, mime).map_err(|error| CliError::failed(format!("cannot write a file: {error}")))?;
        let mime = if mime.is_empty() { "binary" } else { mime };
        let note = format!("{} ({mime}, {} bytes)", path.display(), bytes.len());
        written(writeln!(to, "{}", clean(self.terminal, &note)))
    }

    fn save(&mut self, bytes: &[u8], kind: Kind, mime: &str) -> io::Result<PathBuf> {
        let Some(file) = self.out.filter(|out| !out.is_dir()) else {
            let directory = self.out.unwrap_or(Path::new("."));
            return numbered(directory, &file_stem(self.stem), extension(mime), 1, bytes);
        };
        match self.named {
            None => {
                std::fs::write(file, bytes)?;
                self.named = Some(kind);
                Ok(file.to_owned())
            }
            // The name is taken: a second content goes beside it.
            Some(first) => {
                let own = file.extension().and_then(|own| own.to_str());
                let known = Some(extension(mime)).filter(|known| *known != "bin");
                let is_alike = first == kind && kind == Kind::Text;
                let extension = if is_alike { own.or(known) } else { known.or(own) };
                let directory = file.parent().unwrap_or(Path::new(""));
                let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                numbered(directory, &stem, extension.unwrap_or("bin"), 2, bytes)
            }
        }
    }
}

/// Writes a file `stem-N.extension` that does not exist yet.
fn numbered(directory: &Path, stem: &str, extension: &str, first: usize, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in first..10_000 {
        let path = directory.join(format!("{stem}-{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("there are too many files {stem}-N.{extension}: name another with `--out PATH`")))
}

/// Whether a content block has bytes.
fn is_binary(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("image" | "audio")) || block["resource"]["blob"].is_string()
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
