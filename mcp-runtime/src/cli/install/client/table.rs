//! The table of clients: a new client is one more literal.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::links::Link;
use super::own_command::OwnCommand;
use super::scope::Scope;
use super::shape::{ProgramMember, RemoteMembers, Shape};
use super::{Client, existing};
use crate::cli::error::CliError;
use crate::cli::install::format::Format;
use crate::cli::install::machine::{Machine, OperatingSystem};
use crate::suggest;

impl Client {
    /// Every client, in the order of `install --list`.
    pub fn all() -> &'static [Client] {
        CLIENTS
    }

    /// The client of that name; if there is none, the error suggests one.
    pub fn named(id: &str) -> Result<&'static Client, CliError> {
        if let Some(client) = Client::all().iter().find(|client| client.id == id) {
            return Ok(client);
        }
        let ids: Vec<&str> = Client::all().iter().map(|client| client.id).collect();
        let meant = suggest::closest(id, ids.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        Err(CliError::usage(format!("there is no client `{id}`{meant}\nClients: {}", ids.join(", "))))
    }
}

/// `{"command", "args", "env"}`, and `{"url", "headers"}`.
const STANDARD: Shape = Shape {
    stdio_type: None,
    program: ProgramMember::Split("command"),
    env: "env",
    remote: Some(RemoteMembers { kind: None, url: "url", headers: "headers" }),
    defaults: |_, _| Value::Null,
};

/// The same with `"type": "stdio"` or `"type": "http"`.
const TYPED: Shape = Shape {
    stdio_type: Some("stdio"),
    remote: Some(RemoteMembers { kind: Some("http"), url: "url", headers: "headers" }),
    ..STANDARD
};

const CLIENTS: &[Client] = &[
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        table: "mcpServers",
        shape: Shape { remote: None, ..STANDARD },
        directory: claude_desktop,
        user_file: |machine| claude_desktop(machine).join("claude_desktop_config.json"),
        project_files: &[],
        programs: &[],
        own_command: None,
        link: None,
        next: "quit Claude Desktop and start it again: it reads the file at its start",
    },
    Client {
        id: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        table: "mcpServers",
        shape: TYPED,
        directory: |machine| claude_code(machine).unwrap_or_else(|| machine.home().join(".claude")),
        user_file: |machine| claude_code(machine).unwrap_or_else(|| machine.home().to_owned()).join(".claude.json"),
        project_files: &[".mcp.json"],
        programs: &["claude"],
        own_command: Some(OwnCommand::Claude),
        link: None,
        next: "start a new session of Claude Code; `/mcp` shows the server",
    },
    Client {
        id: "cursor",
        title: "Cursor",
        format: Format::Json,
        table: "mcpServers",
        shape: STANDARD,
        directory: |machine| machine.home().join(".cursor"),
        user_file: |machine| machine.home().join(".cursor").join("mcp.json"),
        project_files: &[".cursor/mcp.json"],
        programs: &["cursor"],
        own_command: None,
        link: Some(Link::Cursor),
        next: "Cursor notices the change; turn the server on in Settings → MCP if it asks",
    },
    Client {
        id: "vscode",
        title: "VS Code",
        format: Format::Json,
        table: "servers",
        shape: TYPED,
        directory: |machine| machine.settings().join("Code"),
        user_file: |machine| machine.settings().join("Code").join("User").join("mcp.json"),
        project_files: &[".vscode/mcp.json"],
        programs: &["code"],
        own_command: Some(OwnCommand::VsCode),
        link: Some(Link::VsCode),
        next: "VS Code notices the change; \"MCP: List Servers\" starts the server",
    },
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        table: "mcp_servers",
        shape: Shape { remote: Some(RemoteMembers { kind: None, url: "url", headers: "http_headers" }), ..STANDARD },
        directory: codex,
        user_file: |machine| codex(machine).join("config.toml"),
        project_files: &[".codex/config.toml"],
        programs: &["codex"],
        own_command: Some(OwnCommand::Codex),
        link: None,
        next: "start a new session of Codex; `/mcp` shows the server",
    },
    Client {
        id: "gemini",
        title: "Gemini CLI",
        format: Format::Json,
        table: "mcpServers",
        shape: Shape { remote: Some(RemoteMembers { kind: Some("http"), url: "url", headers: "headers" }), ..STANDARD },
        directory: |machine| machine.home().join(".gemini"),
        user_file: |machine| machine.home().join(".gemini").join("settings.json"),
        project_files: &[".gemini/settings.json"],
        programs: &["gemini"],
        own_command: Some(OwnCommand::Gemini),
        link: None,
        next: "start Gemini CLI again; `/mcp` shows the server",
    },
    Client {
        id: "zed",
        title: "Zed",
        format: Format::Json,
        table: "context_servers",
        shape: STANDARD,
        directory: zed,
        user_file: |machine| zed(machine).join("settings.json"),
        project_files: &[".zed/settings.json"],
        programs: &["zed", "zeditor"],
        own_command: None,
        link: None,
        next: "Zed notices the change; the settings of the agent panel show the server",
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        table: "mcpServers",
        shape: Shape { remote: Some(RemoteMembers { kind: None, url: "serverUrl", headers: "headers" }), ..STANDARD },
        directory: |machine| machine.home().join(".codeium").join("windsurf"),
        user_file: |machine| machine.home().join(".codeium").join("windsurf").join("mcp_config.json"),
        project_files: &[],
        programs: &["windsurf"],
        own_command: None,
        link: None,
        next: "press Refresh in Windsurf's list of MCP servers",
    },
    Client {
        id: "goose",
        title: "goose",
        format: Format::Yaml,
        table: "extensions",
        shape: Shape {
            stdio_type: Some("stdio"),
            program: ProgramMember::Split("cmd"),
            env: "envs",
            remote: Some(RemoteMembers { kind: Some("streamable_http"), url: "uri", headers: "headers" }),
            defaults: |name, _| json!({"name": name, "description": "", "enabled": true, "timeout": 300}),
        },
        directory: goose,
        user_file: |machine| goose(machine).join("config.yaml"),
        project_files: &[],
        programs: &["goose"],
        own_command: None,
        link: Some(Link::Goose),
        next: "start a new session of goose",
    },
    Client {
        id: "lm-studio",
        title: "LM Studio",
        format: Format::Json,
        table: "mcpServers",
        shape: STANDARD,
        directory: lm_studio,
        user_file: |machine| lm_studio(machine).join("mcp.json"),
        project_files: &[],
        programs: &["lms"],
        own_command: None,
        link: Some(Link::LmStudio),
        next: "turn the server on in LM Studio: Program → Integrations",
    },
    Client {
        id: "opencode",
        title: "OpenCode",
        format: Format::Json,
        table: "mcp",
        shape: Shape {
            stdio_type: Some("local"),
            program: ProgramMember::List,
            env: "environment",
            remote: Some(RemoteMembers { kind: Some("remote"), url: "url", headers: "headers" }),
            defaults: |_, _| json!({"enabled": true}),
        },
        directory: opencode,
        user_file: |machine| {
            let directory = opencode(machine);
            existing(&directory, &["opencode.json", "opencode.jsonc"]).unwrap_or(directory)
        },
        project_files: &["opencode.json", "opencode.jsonc"],
        programs: &["opencode"],
        own_command: None,
        link: None,
        next: "start OpenCode again",
    },
    Client {
        id: "copilot-cli",
        title: "GitHub Copilot CLI",
        format: Format::Json,
        table: "mcpServers",
        shape: Shape {
            // the file of a project is also read by other clients, which have no `tools`
            defaults: |_, scope| if scope == Scope::User { json!({"tools": ["*"]}) } else { Value::Null },
            ..TYPED
        },
        directory: copilot,
        user_file: |machine| copilot(machine).join("mcp-config.json"),
        project_files: &[".mcp.json", ".github/mcp.json"],
        programs: &["copilot"],
        own_command: Some(OwnCommand::Copilot),
        link: None,
        next: "start a new session of Copilot CLI; `/mcp show` lists the server",
    },
];

/// On Windows, Claude Desktop is an MSIX package since 2026, which reads only its own copy of `%APPDATA%`.
fn claude_desktop(machine: &Machine) -> PathBuf {
    let plain = machine.settings().join("Claude");
    if machine.system() != OperatingSystem::Windows {
        return plain;
    }
    let packages = std::fs::read_dir(machine.local().join("Packages")).into_iter().flatten().flatten();
    let mut copies: Vec<PathBuf> = packages
        .filter(|package| package.file_name().to_string_lossy().starts_with("Claude_"))
        .map(|package| package.path().join("LocalCache").join("Roaming").join("Claude"))
        .collect();
    // of several, one that was started before
    copies.sort_by_key(|copy| (!copy.is_dir(), copy.clone()));
    copies.into_iter().next().unwrap_or(plain)
}

fn claude_code(machine: &Machine) -> Option<PathBuf> {
    machine.env_directory("CLAUDE_CONFIG_DIR")
}

fn codex(machine: &Machine) -> PathBuf {
    machine.env_directory("CODEX_HOME").unwrap_or_else(|| machine.home().join(".codex"))
}

fn copilot(machine: &Machine) -> PathBuf {
    machine.env_directory("COPILOT_HOME").unwrap_or_else(|| machine.home().join(".copilot"))
}

fn zed(machine: &Machine) -> PathBuf {
    match machine.system() {
        OperatingSystem::Linux => machine.config().join("zed"),
        OperatingSystem::MacOs => machine.home().join(".config").join("zed"),
        OperatingSystem::Windows => machine.roaming().join("Zed"),
    }
}

fn goose(machine: &Machine) -> PathBuf {
    match machine.system() {
        OperatingSystem::Windows => machine.roaming().join("Block").join("goose").join("config"),
        _ => machine.config().join("goose"),
    }
}

/// It follows XDG on every system.
fn opencode(machine: &Machine) -> PathBuf {
    machine.config().join("opencode")
}

/// Older versions have their files in the cache.
fn lm_studio(machine: &Machine) -> PathBuf {
    let (now, before) = (machine.home().join(".lmstudio"), machine.home().join(".cache").join("lm-studio"));
    if before.join("mcp.json").is_file() && !now.is_dir() { before } else { now }
}
