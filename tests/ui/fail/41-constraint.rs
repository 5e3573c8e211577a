//! Row 41: constraints that cannot be right: a key of another kind of value, a malformed literal, no value left.
#![allow(unused_variables)]
use mcp_runtime::prelude::*;
use std::collections::BTreeSet;

#[tool]
fn other_kind(
    #[arg(min = 1)] a: String,
    #[arg(exclusive_max = 1)] b: Option<Vec<u8>>,
    #[arg(multiple_of = 2)] c: bool,
    #[arg(min_length = 1)] d: u32,
    #[arg(max_length = 1)] e: Vec<String>,
    #[arg(pattern = "a")] f: f64,
    #[arg(format = "date")] g: Vec<String>,
    #[arg(min_items = 1)] h: String,
    #[arg(max_items = 1)] i: Option<i64>,
    #[arg(unique_items)] j: std::string::String,
    #[arg(one_of = ["a", "b"])] k: BTreeSet<String>,
    #[arg(one_of = [1, "b"])] l: u8,
    #[arg(one_of = [1])] m: String,
    #[arg(one_of = [1.5])] n: usize,
) {
}

#[tool]
fn malformed(
    #[arg(min = "1")] a: u32,
    #[arg(max = true)] b: f64,
    #[arg(max = b"1")] c: f64,
    #[arg(min)] d: f64,
    #[arg(min_length = -1)] e: String,
    #[arg(max_items = 1.5)] f: Vec<u8>,
    #[arg(multiple_of = 0)] g: u32,
    #[arg(multiple_of = -0.5)] h: f64,
    #[arg(one_of = [])] i: String,
    #[arg(one_of = ["a", "b", "a"])] j: String,
    #[arg(one_of = "a")] k: String,
    #[arg(unique_items = 1)] l: Vec<u8>,
    #[arg(max = 99999999999999999999)] m: f64,
) {
}

#[prompt]
fn patterns(
    #[arg(pattern = "[a-z")] a: String,
    #[arg(pattern = "(?=a)b")] b: String,
    #[arg(pattern = r"(a)\1")] c: String,
    #[arg(pattern = 1)] d: String,
    #[arg(format = "datetime")] e: String,
    #[arg(format = "zip code")] f: String,
) -> String {
    String::new()
}

#[resource("note://{a}/{b}/{c}/{d}/{e}/{f}/{g}")]
fn no_value_left(
    #[arg(min = 5, max = 3)] a: u32,
    #[arg(exclusive_max = 2.5, min = 2.5)] b: f64,
    #[arg(min_length = 3, max_length = 2)] c: String,
    #[arg(exclusive_min = -1, exclusive_max = -1)] d: i64,
    #[arg(min = 256)] e: u8,
    #[arg(max = -1)] f: u32,
    #[arg(min = LOW, max = 1)] g: u32,
) -> String {
    String::new()
}

const LOW: u32 = 0;

#[tool]
fn defaults(
    #[arg(default = 500, max = 100)] a: u32,
    #[arg(min_length = 2, default = "ä")] b: String,
    #[arg(default = "up", one_of = ["asc", "desc"])] c: String,
    #[arg(default = "A1", pattern = "^[a-z]+$")] d: String,
    #[arg(default = 7, multiple_of = 2)] e: i64,
    #[arg(default = LOW, min = 1)] f: u32,
) {
}

#[tool]
fn other_words(
    #[arg(minimum = 1)] a: u32,
    #[arg(regex = "a")] b: String,
    #[arg(minLength = 1)] c: String,
    #[arg(choices = ["a"])] d: String,
    #[arg(patern = "a")] e: String,
    #[arg(min = 1, min = 2)] f: u32,
) {
}

fn main() {
    let _ = tools![other_kind, malformed, defaults, other_words];
    let _ = (prompts![patterns], resources![no_value_left]);
}
