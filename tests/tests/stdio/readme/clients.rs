//! `docs/book/clients.md` names the versions of clients that `tests/interop` runs.

use super::{page, root};

#[test]
fn measured_clients_are_those_that_are_installed() {
    let read = |name: &str| std::fs::read_to_string(root().join("tests/third_party").join(name)).unwrap();
    let (packages, requirements) = (read("package.json"), read("requirements.txt"));
    let version = |text: &str, begin: &str, end: char| {
        let rest = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}")).1;
        rest.split(end).next().unwrap().to_owned()
    };
    let npm = |name: &str| version(&packages, &format!("\"{name}\": \""), '"');
    let measured = [
        format!("`@modelcontextprotocol/client` {}", npm("@modelcontextprotocol/client")),
        format!("`@modelcontextprotocol/sdk` {}", npm("@modelcontextprotocol/sdk")),
        format!("MCP Inspector {}", npm("@modelcontextprotocol/inspector")),
        format!("`mcp` {}", version(&requirements, "\nmcp==", '\n')),
    ];
    let text = page("docs/book/clients.md").text;
    for client in measured {
        assert!(text.contains(&client), "docs/book/clients.md does not name {client}");
    }
}

/// The number of scenarios of the official suite by revision, which `tests/conformance/run` insists on.
#[test]
fn scenarios_are_those_that_are_run() {
    let run = std::fs::read_to_string(root().join("tests/conformance/run")).unwrap();
    let expected = run.trim_end().lines().last().unwrap();
    let text = page("docs/book/clients.md").text.split_whitespace().collect::<Vec<_>>().join(" ");
    let dated = expected.split_whitespace().filter_map(|run| run.split_once('=')).filter(|(name, _)| name.len() == 10);
    let mut named = 0;
    for (revision, scenarios) in dated {
        let shown = [format!("{scenarios} scenarios for {revision}"), format!("{scenarios} for {revision}")];
        assert!(shown.iter().any(|shown| text.contains(shown)), "docs/book/clients.md: {scenarios} for {revision}");
        named += 1;
    }
    assert_eq!(named, 4);
}
