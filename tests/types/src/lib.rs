//! The types of arguments: the table in `mcp-runtime/docs/types.md`, row by row.
#![cfg(test)]
#![allow(dead_code, reason = "fields that are only printed")]

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{schemars, serde};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

const PAGE: &str = include_str!("../../../mcp-runtime/docs/types.md");
const MANIFEST: &str = include_str!("../Cargo.toml");

// Through the re-exports, with which a server needs neither crate in its manifest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "mcp_runtime::serde", rename_all = "lowercase")]
#[schemars(crate = "mcp_runtime::schemars")]
enum Unit {
    Celsius,
    Kelvin,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Shape {
    Circle(f64),
    Square { side: f64 },
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Point {
    x: f64,
    y: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Id(u64);

/// A row: the type as the table spells it, a tool with an argument of it, a value it takes, one it refuses.
struct Row {
    name: &'static str,
    tool: Tool,
    good: Value,
    bad: Option<Value>,
}

macro_rules! rows {
    ($($name:literal $ty:ty: $good:tt $(not $bad:tt)?,)*) => {
        [$({
            #[tool]
            fn takes(value: $ty) -> String {
                format!("{value:?}")
            }
            let [tool] = tools![takes];
            let bad: &[Value] = &[$(json!($bad))?];
            Row { name: $name, tool, good: json!($good), bad: bad.first().cloned() }
        }),*]
    };
}

fn rows() -> Vec<Row> {
    Vec::from(rows! {
        "`i8` … `i64`, `isize`" i32: (-5) not 2.5,
        "`u8` … `u64`, `usize`" u8: 255 not 256,
        "`i128`, `u128`" u128: 5 not (-1),
        "`NonZeroU32`" NonZeroU32: 1 not 0,
        "`f32`, `f64`" f64: 2.5 not "much",
        "`bool`" bool: true not "maybe",
        "`char`" char: "é" not "ab",
        "`String`" String: "text" not {},
        "`PathBuf`" PathBuf: "/tmp" not {},
        "`Option<T>`" Option<i64>: null not "x",
        "`Vec<T>`" Vec<u64>: [1, 1] not [1, "x"],
        "`[T; 3]`" [u64; 3]: [1, 2, 3] not [1, 2],
        "`HashSet<T>`, `BTreeSet<T>`" HashSet<u64>: [1, 2] not [1, 1],
        "`HashMap<String, T>`, `BTreeMap<String, T>`" HashMap<String, u64>: {"a": 1} not {"a": "x"},
        "`(A, B)`" (u64, String): [1, "a"] not [1, 2],
        "an enum without data" Unit: "kelvin" not "fahrenheit",
        "an enum with data" Shape: {"Circle": 1.5} not {"Circle": "x"},
        "a struct" Point: {"x": 1.5} not {"y": 1.5},
        "`struct Id(u64)`" Id: 7 not {"id": 7},
        "`serde_json::Value`" Value: [{"any": "thing"}],
        "`serde_json::Map`" serde_json::Map<String, Value>: {"a": [1]} not [1],
        "`Duration`" Duration: {"secs": 1, "nanos": 500} not {"secs": (-1), "nanos": 0},
        "`IpAddr`" IpAddr: "::1" not "1.2.3",
        "`Ipv4Addr`" Ipv4Addr: "127.0.0.1" not "::1",
        "`SocketAddr`" SocketAddr: "127.0.0.1:80" not "127.0.0.1",
        "`chrono::NaiveDate`" chrono::NaiveDate: "2026-02-28" not "2026-02-30",
        "`chrono::NaiveTime`" chrono::NaiveTime: "12:30:00" not "25:00:00",
        "`chrono::NaiveDateTime`" chrono::NaiveDateTime: "2026-02-28T12:30:00" not "2026-02-28",
        "`chrono::DateTime<Utc>`" chrono::DateTime<chrono::Utc>: "2026-02-28T12:30:00Z" not "2026-02-28T12:30:00",
        "`uuid::Uuid`" uuid::Uuid: "67e55044-10b1-426f-9247-bb680e5fe0c8" not "67e55044",
        "`url::Url`" url::Url: "https://example.com/" not "example.com",
        "`rust_decimal::Decimal`" rust_decimal::Decimal: "1.10" not "ten",
    })
}

/// The second column of the row of a type: its schema, with `…` for the parts that are left out.
fn documented(name: &str) -> &'static str {
    let start = format!("| {name} | ");
    let row = PAGE.lines().find_map(|line| line.strip_prefix(&*start));
    row.and_then(|row| row.split(" | ").next()).unwrap_or_else(|| panic!("types.md has no row for {name}"))
}

/// Whether a schema looks as documented, where `…` stands for anything.
fn looks_like(schema: &str, documented: &str) -> bool {
    let Some((start, end)) = documented.split_once('…') else {
        return schema == documented;
    };
    let Some(rest) = schema.strip_prefix(start) else {
        return false;
    };
    rest.char_indices().any(|(at, _)| looks_like(&rest[at..], end))
}

#[test]
fn every_type_has_the_documented_schema() {
    let rows = rows();
    for Row { name, tool, .. } in &rows {
        let schema = tool.descriptor().input_schema["properties"]["value"].to_string();
        let documented = match documented(name).split('`').nth(1) {
            // "that of `T`", for which the test has an integer
            Some("T") => r#"{"type":"integer"}"#,
            Some("u64") => r#"{"type":"integer","minimum":0}"#,
            documented => documented.unwrap(),
        };
        assert!(looks_like(&schema, documented), "{name} has the schema {schema}, and {documented} in types.md");
    }
    let documented = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| type"));
    let features: Vec<&str> = documented.map(|row| row.rsplit('|').nth(1).unwrap().trim()).collect();
    assert_eq!(features.len(), rows.len(), "types.md has rows without a test");
    let schemars = MANIFEST.lines().find(|line| line.contains("schemars = { workspace")).unwrap();
    for feature in features.iter().filter(|feature| !feature.is_empty()) {
        assert!(schemars.contains(&feature.replace('`', "\"")), "the tests do without {feature}");
    }
}

async fn client(tool: Tool) -> TestClient {
    TestClient::connect(Server::new("test", "1.0.0").tools([tool])).await.unwrap()
}

#[tokio::test]
async fn every_type_takes_its_values_and_refuses_others() {
    for Row { name, tool, good, bad } in rows() {
        let client = client(tool).await;
        let taken = client.call("takes", json!({"value": good})).await.unwrap();
        assert!(!taken.is_error(), "{name} refuses {good}: {}", taken.text());
        if let Some(bad) = bad {
            let refused = client.call("takes", json!({"value": bad})).await.unwrap();
            assert!(refused.is_error() && refused.text().contains("`value"), "{name} takes {bad}: {}", refused.text());
        }
    }
}

#[tokio::test]
async fn an_option_may_be_omitted() {
    let row = rows().into_iter().find(|row| row.name == "`Option<T>`").unwrap();
    let client = client(row.tool).await;
    assert_eq!(client.call("takes", json!({})).await.unwrap().text(), "None");
}
