//! Row 30: arguments of prompts and variables of URIs that no text can be.
use std::collections::HashMap;

use mcp_runtime::prelude::*;

#[prompt]
fn list(items: Vec<String>, more: Option<[u8; 4]>, pair: (i64, i64), count: Option<u64>) -> String {
    format!("{items:?} {more:?} {pair:?} {count:?}")
}

#[resource("table://{rows}")]
fn table(rows: HashMap<String, u64>) -> String {
    format!("{rows:?}")
}

struct Notes;

#[handlers]
impl Notes {
    #[prompt]
    fn ask(&self, tags: std::collections::BTreeSet<String>) -> String {
        format!("{tags:?}")
    }
}

fn main() {
    let _ = Server::new("s", "1").prompts(prompts![list]).resources(resources![table]).mount(Notes);
}
