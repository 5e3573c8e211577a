//! The tools follow the file, and clients are told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_runtime::Revision;
use mcp_runtime::prelude::*;
use mcp_runtime::store::Change;
use mcp_runtime::testing::{Changes, TestClient};
use plugins::Plugins;
use serde_json::Value;
use tokio::sync::mpsc;

/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(60);

const GREET: &str = r#"
[[tool]]
name = "greet"
description = "Greet somebody."
template = "Hello {name}!"

[[tool.argument]]
name = "name"
description = "Who is greeted."
"#;

const COUNT: &str = r#"
[[tool]]
name = "count"
description = "Count."
template = "{{{n}}} {unit}{loud}"

[[tool.argument]]
name = "n"
type = "integer"
description = "How many."

[[tool.argument]]
name = "unit"
description = "Of what."
choices = ["apples", "pears"]
default = "pears"

[[tool.argument]]
name = "loud"
type = "boolean"
description = "Whether to shout."
required = false
"#;

/// A directory with a file of this text.
fn file(test: &str, text: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("plugins.toml");
    fs::write(&file, text).unwrap();
    file
}

/// A client of a server that watches its file.
struct Watched {
    file: PathBuf,
    client: TestClient,
    changes: Changes,
    problems: mpsc::UnboundedReceiver<String>,
    _watcher: Box<dyn Send>,
}

async fn watched(test: &str, text: &str, revision: Revision) -> Result<Watched> {
    let file = file(&format!("{test}-{revision}"), text);
    let plugins = Plugins::load(&file)?;
    let server = plugins::server(&plugins);
    let (sender, problems) = mpsc::unbounded_channel();
    let report = move |problem: plugins::Problem| sender.send(problem.to_string()).unwrap_or_default();
    let watcher = Box::new(plugins.watch(server.handle(), report)?);
    let client = TestClient::with_revision(server, revision).await?;
    let changes = client.changes([]).await?;
    Ok(Watched { file, client, changes, problems, _watcher: watcher })
}

impl Watched {
    /// The tools, by name.
    async fn tools(&self) -> Result<Vec<String>> {
        Ok(self.client.list_tools().await?.into_iter().map(|tool| tool.name).collect())
    }

    /// Waits until the client, told of a change each time, sees these tools.
    async fn until(&self, expected: &[&str]) -> Result<()> {
        loop {
            assert_eq!(tokio::time::timeout(LONG, self.changes.next()).await??, Change::ToolList);
            if self.tools().await? == expected {
                return Ok(());
            }
        }
    }

    /// Puts a new file in the place of the old one, as many editors do. It is never seen half written.
    fn replace(&self, text: &str) -> Result<()> {
        let new = self.file.with_extension("new");
        fs::write(&new, text)?;
        Ok(fs::rename(new, &self.file)?)
    }

    /// Waits for a problem that begins like this. A file that is read twice has its problem twice.
    async fn until_problem(&mut self, expected: &str) {
        let mut last = None;
        while !last.as_ref().is_some_and(|problem: &String| problem.starts_with(expected)) {
            let next = tokio::time::timeout(LONG, self.problems.recv()).await;
            last = Some(next.unwrap_or_else(|_| panic!("{last:?} is not {expected}")).expect("a watcher"));
        }
    }
}

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn tools_are_added_removed_and_changed() -> Result<()> {
    for revision in REVISIONS {
        let watched = watched("follow", GREET, revision).await?;
        let greet = async || watched.client.call("greet", json!({"name": "Ada"})).await;
        assert_eq!(watched.tools().await?, ["greet"]);

        fs::write(&watched.file, format!("{GREET}{COUNT}"))?;
        watched.until(&["greet", "count"]).await?;
        assert_eq!(watched.client.call("count", json!({"n": 2})).await?.text(), "{2} pears");

        // A tool that changes is the last of the list.
        fs::write(&watched.file, format!("{}{COUNT}", GREET.replace("Hello", "Good evening")))?;
        watched.until(&["count", "greet"]).await?;
        assert_eq!(greet().await?.text(), "Good evening Ada!");

        fs::write(&watched.file, COUNT)?;
        watched.until(&["count"]).await?;
        assert!(greet().await.is_err());

        fs::write(&watched.file, "")?;
        watched.until(&[]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn replaced_file_is_read() -> Result<()> {
    let watched = watched("replaced", GREET, Revision::V2026_07_28).await?;
    watched.replace(COUNT)?;
    watched.until(&["count"]).await
}

#[tokio::test]
async fn broken_file_changes_nothing() -> Result<()> {
    for revision in REVISIONS {
        let mut watched = watched("broken", GREET, revision).await?;
        let shown = watched.file.display().to_string();
        for (text, expected) in [
            ("[[tool]]\nname = \"x\"\nname = 7", ":3:1: duplicate key"),
            ("[[tool]]\nname = 7", ":2:8: invalid type: integer `7`, expected a string"),
            ("[[tool]\n", ":1:8: unclosed array table"),
            ("\n[[tool]]\nname = \"x\"\n", ":2:1: missing field `description`"),
            ("[[tools]]\n", ":1:3: unknown field `tools`, expected `tool`"),
        ] {
            watched.replace(text)?;
            watched.until_problem(&format!("{shown}{expected}")).await;
        }
        fs::remove_file(&watched.file)?;
        watched.until_problem(&format!("cannot read {shown}: ")).await;

        assert_eq!(watched.client.call("greet", json!({"name": "Ada"})).await?.text(), "Hello Ada!");
        assert_eq!(watched.changes.drain(), [], "nothing has changed");
        fs::write(&watched.file, COUNT)?;
        watched.until(&["count"]).await?;
    }
    Ok(())
}

#[test]
fn flaws_have_a_place() {
    for (text, expected) in [
        (GREET.replace("{name}", "{nam}"), ":5:12: no argument is called `nam`: "),
        (GREET.replace("{name}", "{name"), ":5:12: `{` has no partner: "),
        (GREET.replace("\"greet\"", "\"say hello\""), ":3:8: tool name `say hello` contains ` `"),
        (COUNT.replace("\"pears\"\n", "\"plums\"\n"), ":3:8: tool `count`: the default of `unit`"),
        (COUNT.replace("\"pears\"\n", "7\n"), ":3:8: tool `count`: the default of `unit`"),
        (COUNT.replace("\"unit\"", "\"n\"").replace("{unit}", ""), ":13:8: two arguments are called `n`"),
        (COUNT.replace("\"integer\"", "\"int\""), ":9:8: unknown variant `int`"),
        (format!("{GREET}{GREET}"), ":12:8: two tools are called `greet`"),
        (
            format!("# é\n{}", GREET.replace("description = \"Greet", "about = \"é").replace("{name}", "")),
            ":5:1: unknown field `about`",
        ),
    ] {
        let file = file("flaws", &text);
        let problem = Plugins::load(&file).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("{}{expected}", file.display())), "{text}\n{problem}");
    }
}

#[tokio::test]
async fn arguments_are_checked_by_the_schema() -> Result<()> {
    let plugins = Plugins::load(file("schema", COUNT))?;
    let client = TestClient::connect(plugins::server(&plugins)).await?;
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "How many."},
            "unit": {"type": "string", "description": "Of what.", "enum": ["apples", "pears"], "default": "pears"},
            "loud": {"type": "boolean", "description": "Whether to shout."},
        },
        "required": ["n"],
        "additionalProperties": false,
    });
    assert_eq!(client.list_tools().await?[0].input_schema, schema);
    let count = async |arguments: Value| client.call("count", arguments).await;
    assert_eq!(count(json!({"n": 3, "unit": "apples", "loud": true})).await?.text(), "{3} applestrue");
    assert_eq!(count(json!({"n": "3"})).await?.text(), "{3} pears", "a model's way to write a number");
    for (arguments, argument) in [
        (json!({}), "`n`"),
        (json!({"n": "many"}), "`n`"),
        (json!({"n": 1, "unit": "plums"}), "`unit`"),
        (json!({"n": 1, "uint": "pears"}), "`uint`"),
    ] {
        let answer = count(arguments).await?;
        assert!(answer.is_error() && answer.text().contains(argument), "{}", answer.text());
    }
    Ok(())
}
