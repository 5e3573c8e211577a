//! The generated crates: `leaf`, a server with many tools, and `hello`, a server with one.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

use crate::Result;

/// How many tools the leaf crate has. Each takes three arguments.
pub const TOOLS: u32 = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    Ours,
    Rmcp,
}

impl Framework {
    pub const ALL: [Self; 2] = [Self::Ours, Self::Rmcp];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Rmcp => "rmcp",
        }
    }

    /// The lines of `[dependencies]`: what a stdio server needs, and nothing else.
    fn dependencies(self) -> String {
        let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mcp-runtime");
        let framework = match self {
            Self::Ours => format!("mcp-runtime = {{ path = {:?} }}\n", runtime.display().to_string()),
            Self::Rmcp => "rmcp = { version = \"=3.8.0\", default-features = false, features = [\"macros\", \
                           \"server\", \"transport-io\"] }\n\
                           schemars = \"1\"\n\
                           serde = { version = \"1\", features = [\"derive\"] }\n"
                .to_owned(),
        };
        format!("{framework}tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n")
    }

    fn hello(self) -> String {
        match self {
            Self::Ours => OURS_HELLO.to_owned(),
            Self::Rmcp => RMCP_HELLO.to_owned(),
        }
    }

    fn leaf(self) -> String {
        match self {
            Self::Ours => ours(),
            Self::Rmcp => rmcp(),
        }
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Writes a workspace of the two crates. Files that have not changed stay as they are.
pub fn write(framework: Framework, directory: &Path) -> Result<()> {
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"hello\", \"leaf\"]\n";
    update(&directory.join("Cargo.toml"), workspace)?;
    // The versions of the other benches.
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock"))?;
    update(&directory.join("Cargo.lock"), &lock)?;
    let dependencies = framework.dependencies();
    for (package, source) in [("hello", framework.hello()), ("leaf", framework.leaf())] {
        let manifest = format!(
            "[package]\nname = \"{package}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
             [dependencies]\n{dependencies}"
        );
        update(&directory.join(package).join("Cargo.toml"), &manifest)?;
        update(&directory.join(package).join("src/main.rs"), &source)?;
    }
    Ok(())
}

fn update(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(fs::write(path, text)?)
}

const OURS_HELLO: &str = r#"use mcp_runtime::prelude::*;

/// Add two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServerError> {
    Server::new("hello", "0.1.0").tools(tools![add]).serve_stdio().await
}
"#;

const RMCP_HELLO: &str = r"use rmcp::{ServiceExt, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AddParams {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Hello;

#[tool_router(server_handler)]
impl Hello {
    /// Add two integers.
    #[tool(annotations(read_only_hint = true))]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Hello.serve(stdio()).await?.waiting().await?;
    Ok(())
}
";

/// The shapes of the tools, in turn: a sync and an async one, with arguments that are required or optional, and a
/// list.
fn ours() -> String {
    let mut text = "use mcp_runtime::prelude::*;\n".to_owned();
    for n in 0..TOOLS {
        let (header, arguments, body) = shape(n);
        let arguments = lines(&arguments);
        let _ = write!(
            text,
            "\n/// Tool number {n}.\n#[tool]\n{header} tool_{n}(\n{arguments}) -> String {{\n    {body}\n}}\n"
        );
    }
    let names: Vec<String> = (0..TOOLS).map(|n| format!("tool_{n}")).collect();
    let _ = write!(
        text,
        "\n#[tokio::main]\nasync fn main() -> Result<(), ServerError> {{\n    \
         Server::new(\"leaf\", \"0.1.0\").tools(tools![{}]).serve_stdio().await\n}}\n",
        names.join(", ")
    );
    text
}

fn rmcp() -> String {
    let mut text =
        "use rmcp::{ServiceExt, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio};\n"
            .to_owned();
    let mut methods = String::new();
    for n in 0..TOOLS {
        let (header, arguments, body) = shape(n);
        let fields = lines(&arguments);
        let names: Vec<&str> = arguments.iter().map(|(_, name, _)| *name).collect();
        let names = names.join(", ");
        let _ =
            write!(text, "\n#[derive(serde::Deserialize, schemars::JsonSchema)]\nstruct Params{n} {{\n{fields}}}\n");
        let _ = write!(
            methods,
            "\n    /// Tool number {n}.\n    #[tool]\n    {header} tool_{n}(&self, Parameters(Params{n} {{ {names} }}): \
             Parameters<Params{n}>) -> String {{\n        {body}\n    }}\n"
        );
    }
    let _ = write!(
        text,
        "\n#[derive(Clone)]\nstruct Leaf;\n\n#[tool_router(server_handler)]\nimpl Leaf {{{methods}}}\n\n\
         #[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
         Leaf.serve(stdio()).await?.waiting().await?;\n    Ok(())\n}}\n"
    );
    text
}

/// Arguments of a function, or fields of a struct.
fn lines(arguments: &[Argument]) -> String {
    arguments.iter().fold(String::new(), |mut text, (doc, name, r#type)| {
        let _ = write!(text, "    /// {doc}\n    {name}: {type},\n");
        text
    })
}

type Argument = (&'static str, &'static str, &'static str);

/// The beginning of a tool, its arguments (description, name, type) and its body. Both frameworks get the same.
fn shape(n: u32) -> (&'static str, [Argument; 3], &'static str) {
    let text = ("The text.", "text", "String");
    let count = ("How many.", "count", "u32");
    let label = ("A label.", "label", "Option<String>");
    let factor = ("A factor.", "factor", "f64");
    let exact = ("Whether it is exact.", "exact", "bool");
    let items = ("The items.", "items", "Vec<String>");
    match n % 4 {
        0 => ("fn", [text, count, label], r#"format!("{text} {count} {label:?}")"#),
        1 => ("fn", [factor, exact, items], r#"format!("{factor} {exact} {items:?}")"#),
        2 => ("async fn", [text, factor, exact], r#"format!("{text} {factor} {exact}")"#),
        _ => ("async fn", [count, label, items], r#"format!("{count} {label:?} {items:?}")"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_every_tool_and_argument() {
        let (ours, rmcp) = (ours(), rmcp());
        for text in [&ours, &rmcp] {
            assert_eq!(text.matches("#[tool]").count(), TOOLS as usize);
            assert_eq!(text.matches("/// A label.").count(), TOOLS as usize / 2);
            assert_eq!(text.matches("async fn tool_").count(), TOOLS as usize / 2);
        }
    }
}
