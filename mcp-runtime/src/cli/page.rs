//! What a server says of itself on a terminal: the page without arguments, `--help`.

use serde_json::Value;

use super::commands::list::{prompt_list, resource_list, tool_list};
use super::show::schema::{choices, resolve, types};
use super::show::text::{clean, wrapped};
use super::terminal::Terminal;
use crate::protocol::ToolDescriptor;
use crate::surface::{Offered, Surface};

/// More tools than this are left to `tools`.
const TOOLS: usize = 12;

/// Name, tools, and what to type next.
pub(super) fn page(surface: &Surface, version: &str, program: &str, terminal: Terminal) -> String {
    let title = surface.server.title.as_deref().unwrap_or(&surface.server.name);
    let mut parts = vec![format!("{} {}\n", terminal.bold(title), terminal.dim(format!("{version}, an MCP server")))];
    let description = surface.server.description.as_deref();
    parts.extend(description.map(|text| wrapped(&clean(terminal, text), 0, terminal.width()) + "\n"));
    let tools = items(&surface.tools);
    let more = match tools.len().saturating_sub(TOOLS) {
        0 => String::new(),
        more => format!("  {}\n", terminal.dim(format!("… and {more} more: `{program} tools`"))),
    };
    for (heading, list) in [
        ("Tools", tool_list(&tools[..tools.len().min(TOOLS)], terminal, false) + &more),
        ("Resources", resource_list(&items(&surface.resources), &items(&surface.resource_templates), terminal)),
        ("Prompts", prompt_list(&items(&surface.prompts), terminal)),
        ("Next", next(tools.first(), program, terminal)),
    ] {
        if !list.is_empty() {
            parts.push(format!("\n{}\n{list}", terminal.green(heading)));
        }
    }
    parts.concat()
}

/// The commands to try next, in two columns.
fn next(tool: Option<&ToolDescriptor>, program: &str, terminal: Terminal) -> String {
    let call = tool.map(|tool| (format!("call {}", example(tool)), "call a tool"));
    let others = [
        ("install --list", "the MCP clients on this machine"),
        ("install claude-desktop", "add it to one"),
        ("--help", "everything else"),
    ];
    let commands: Vec<(String, &str)> =
        call.into_iter().chain(others.map(|(command, what)| (command.to_owned(), what))).collect();
    let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let line = |(command, what): &(String, &str)| {
        let pad = width - command.chars().count();
        let typed = terminal.cyan(format!("{program} {command}"));
        vec![format!("  {typed}{:pad$}  {}\n", "", terminal.dim(what))]
    };
    commands.iter().flat_map(line).collect()
}

fn items<T: Clone>(offered: &[Offered<T>]) -> Vec<T> {
    offered.iter().map(|offered| offered.item.clone()).collect()
}

/// A call of the tool with values that fit: `add a=1 b=1`.
fn example(tool: &ToolDescriptor) -> String {
    let root = &tool.input_schema;
    let schema = resolve(root, root);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let pair = |name: &str| {
        let property = resolve(root, &schema["properties"][name]);
        let value = match (choices(root, property), &types(root, property)[..]) {
            (Some(choices), _) => choices[0].as_str().map_or_else(|| choices[0].to_string(), str::to_owned),
            (None, ["integer" | "number", ..]) => {
                property.get("minimum").map_or_else(|| "1".to_owned(), Value::to_string)
            }
            (None, ["boolean", ..]) => "true".to_owned(),
            (None, ["object", ..]) => "'{}'".to_owned(),
            (None, ["array", ..]) => "'[]'".to_owned(),
            _ => "…".to_owned(),
        };
        format!(" {name}={value}")
    };
    format!("{}{}", tool.name, required.map(pair).collect::<String>())
}

/// The page of `--help`.
pub(super) fn help(name: &str, version: &str, program: &str, terminal: Terminal) -> String {
    let heading = |text: &'static str| terminal.green(text);
    let command = |text: &'static str, what: &'static str| {
        format!("  {}{:pad$}{what}\n", terminal.cyan(text), "", pad = 30_usize.saturating_sub(text.len()))
    };
    let http = if cfg!(feature = "http") {
        command("--http [ADDR]", "serve over HTTP (127.0.0.1:8080)")
    } else {
        command("--http [ADDR]", "needs the feature `http` of mcp-runtime")
    };
    let doctor = if cfg!(feature = "auth-fetch") {
        command("doctor [URL]", "why clients cannot log in at a live server; --token-env NAME")
    } else {
        String::new()
    };
    [
        format!("{} {version}: an MCP server\n\n", terminal.bold(name)),
        format!("{} {program} [COMMAND]\n", heading("Usage:")),
        "Without a command it serves an MCP client over standard input and output.\n\n".to_owned(),
        format!("{}\n", heading("Serve")),
        command("--stdio", "serve over standard input and output, also on a terminal"),
        http,
        format!("\n{}\n", heading("Look")),
        command("inspect", "everything at a glance"),
        command("tools [NAME]", "the tools as signatures, or one in detail; --tokens"),
        command("resources", "the resources and their templates"),
        command("prompts", "the prompts"),
        command("schema", "the contract: everything clients rely on, as JSON"),
        command("lint", "what models and clients stumble over"),
        doctor,
        format!("\n{}\n", heading("Use")),
        command("call TOOL key=value …", "call a tool; --json '{…}' for all arguments at once"),
        command("read URI", "read a resource"),
        command("get PROMPT key=value …", "get a prompt"),
        command("complete PROMPT key=typed …", "complete an argument of a prompt or template"),
        format!("\n{}\n", heading("Install")),
        command("install CLIENT", "add it to an MCP client; --list shows them"),
        command("uninstall CLIENT", "remove it"),
        format!("\n{}\n", heading("Options")),
        command("--json, --raw", "JSON instead of text (with call and get: --raw)"),
        command("--answer key=value", "answer a tool's question; otherwise a terminal asks"),
        command("-o, --out PATH", "write the result to this file or into this directory"),
        command("--revision DATE", "speak this revision of the protocol"),
        command("--timeout SECONDS", "give up after that long"),
        command("--progress, -q, --quiet", "progress also without a terminal; neither it nor logs"),
        "\nValues follow the tool's schema: a=2, on=yes, tags=x tags=y, place.city=Rome,\n\
         text=@FILE, text=@- (standard input), key:=JSON.\n\
         Exit codes: 0 done, 1 the tool failed or something was found, 2 wrong command line or no\n\
         such name, 3 no connection, no answer in time, or a protocol error, 130 Ctrl-C.\n"
            .to_owned(),
    ]
    .concat()
}

/// The program as the person typed it.
pub(super) fn program(name: &str) -> String {
    let var = |key: &str| std::env::var(key).ok();
    // Set by `cargo run`, and inherited by what it runs.
    if let (Some(directory), Some(package)) = (var("CARGO_MANIFEST_DIR"), var("CARGO_PKG_NAME")) {
        let alone = std::path::Path::new(&directory).join("Cargo.lock").exists();
        return if alone { "cargo run -q --".to_owned() } else { format!("cargo run -q -p {package} --") };
    }
    let typed = std::env::args_os().next().and_then(|path| path.into_string().ok());
    let on_path = |typed: &String| !typed.contains(['/', '\\']) || typed.len() <= 40;
    typed.filter(on_path).unwrap_or_else(|| name.to_owned())
}
