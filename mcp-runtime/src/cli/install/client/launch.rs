//! [`Launch`]: how a client starts or reaches a server.

use serde_json::Value;

/// How a client starts or reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// The client starts a program and speaks to it on stdio.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment variables, beside those of the client, in the order of their names.
        env: Vec<(String, String)>,
        /// The directory it is started in, if the client says so.
        directory: Option<String>,
    },
    /// The client sends HTTP requests.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of each request, in the order of their names.
        headers: Vec<(String, String)>,
    },
}

/// The names of the member with the endpoint, over all clients.
pub(super) const URLS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];
const HEADERS: [&str; 2] = ["headers", "http_headers"];
const ENVIRONMENTS: [&str; 3] = ["env", "envs", "environment"];

impl Launch {
    /// Reads the entry of any client. None if it is neither a program nor an endpoint, as goose's own extensions.
    pub fn read(entry: &Value) -> Option<Launch> {
        let first = |names: &[&str]| names.iter().find_map(|name| entry.get(name));
        if let Some(url) = first(&URLS).and_then(Value::as_str) {
            return Some(Launch::Http { url: url.to_owned(), headers: pairs(first(&HEADERS)) });
        }
        let command = first(&["command", "cmd"])?;
        // older files of Zed: `"command": {"path", "args", "env"}`
        if command.is_object() {
            let mut inner = command.clone();
            inner["command"] = command.get("path")?.clone();
            return Launch::read(&inner);
        }
        let mut words = match command {
            Value::Array(words) => strings(words),
            command => vec![command.as_str()?.to_owned()],
        };
        words.extend(entry.get("args").and_then(Value::as_array).map(|args| strings(args)).unwrap_or_default());
        let mut words = words.into_iter();
        Some(Launch::Command {
            command: words.next()?,
            args: words.collect(),
            env: pairs(first(&ENVIRONMENTS)),
            directory: entry.get("cwd").and_then(Value::as_str).map(str::to_owned),
        })
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self, Launch::Http { .. })
    }
}

/// Pairs in the order of their names, in which they can be compared.
fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let mut pairs: Vec<_> = members.map(|(name, value)| (name.clone(), text(value))).collect();
    pairs.sort();
    pairs
}

fn strings(values: &[Value]) -> Vec<String> {
    values.iter().map(text).collect()
}

/// Numbers and booleans stand without quotes in some files.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
