//! Doc comments become descriptions.

use mcp_runtime::prelude::*;

/// First paragraph,
/// on two lines.
///
/// Second paragraph:
///
///     indented code
///
/// - a list
///   that goes on
#[tool]
fn paragraphs() {}

/// First line.
#[allow(clippy::needless_pass_by_value)]
/// Second line.
#[inline]
///
/// Second paragraph.
#[tool]
#[must_use]
/// Last line, below the attribute.
fn interrupted(a: String) -> usize {
    a.len()
}

/**
 * A block comment
 * with stars.
 *
 * And a paragraph.
 */
#[tool]
fn block() {}

/** One line. */
#[tool]
fn short_block() {}

#[doc = include_str!("included.md")]
#[tool]
fn included() {}

/// Before.
#[doc = include_str!("included.md")]
/// After.
#[tool]
fn included_between() {}

#[doc = concat!("Made of ", "pieces.")]
#[doc(alias = "other")]
#[tool]
fn concatenated() {}

/// Not this.
#[tool(description = "But this.")]
fn overridden() {}

#[tool]
fn undocumented() {}

#[doc = ""]
#[allow(clippy::empty_docs, reason = "what does it describe?")]
#[tool]
fn empty() {}

/// "Quotes", \backslashes\, {braces} and 中文 — as they are.
#[tool]
fn special() {}

fn description(tool: &Tool) -> Option<&str> {
    tool.descriptor().description.as_deref()
}

#[test]
fn doc_paragraphs_are_kept() {
    let [tool] = tools![paragraphs];
    assert_eq!(
        description(&tool),
        Some("First paragraph,\non two lines.\n\nSecond paragraph:\n\n    indented code\n\n- a list\n  that goes on")
    );
}

#[test]
fn docs_may_be_interrupted_by_attributes() {
    let [tool] = tools![interrupted];
    assert_eq!(
        description(&tool),
        Some("First line.\nSecond line.\n\nSecond paragraph.\nLast line, below the attribute.")
    );
    assert_eq!(interrupted("four".into()), 4);
}

#[test]
fn doc_block_stars_are_removed() {
    let [long, short] = tools![block, short_block];
    assert_eq!(description(&long), Some("A block comment\nwith stars.\n\nAnd a paragraph."));
    assert_eq!(description(&short), Some("One line."));
}

#[test]
fn included_docs_are_read() {
    let [alone, between, concatenated] = tools![included, included_between, concatenated];
    assert_eq!(description(&alone), Some("# Included\n\nFrom a file."));
    assert_eq!(description(&between), Some("Before.\n# Included\n\nFrom a file.\n\nAfter."));
    assert_eq!(description(&concatenated), Some("Made of pieces."));
}

#[test]
fn description_attribute_overrides_docs() {
    let [tool] = tools![overridden];
    assert_eq!(description(&tool), Some("But this."));
}

#[test]
fn empty_docs_are_no_description() {
    let [without, empty] = tools![undocumented, empty];
    assert_eq!(description(&without), None);
    assert_eq!(description(&empty), None);
    let listed = serde_json::to_value(without.descriptor()).unwrap();
    assert_eq!(listed.get("description"), None);
}

#[test]
fn doc_text_is_verbatim() {
    let [tool] = tools![special];
    assert_eq!(description(&tool), Some("\"Quotes\", \\backslashes\\, {braces} and 中文 — as they are."));
}

/// Copy.
#[tool]
fn copy(
    /// From where.
    ///
    /// A path.
    from: String,
    /** To where. */
    to: String,
    #[doc = include_str!("included.md")] mode: String,
    /// Not this.
    #[arg(description = "But this.")]
    #[allow(unused_variables)]
    other: String,
    plain: Option<String>,
) -> String {
    [from, to, mode, plain.unwrap_or_default()].concat()
}

#[test]
fn argument_docs_are_descriptions() {
    let [tool] = tools![copy];
    let properties = &tool.descriptor().input_schema["properties"];
    assert_eq!(properties["from"], json!({"type": "string", "description": "From where.\n\nA path."}));
    assert_eq!(properties["to"]["description"], "To where.");
    assert_eq!(properties["mode"]["description"], "# Included\n\nFrom a file.");
    assert_eq!(properties["other"]["description"], "But this.");
    assert_eq!(properties["plain"], json!({"type": "string"}));
}

#[derive(serde::Serialize, schemars::JsonSchema)]
/// A point on a plane.
struct Point {
    /// To the right.
    x: f64,
}

/// Make a point.
#[tool]
fn point(x: f64) -> mcp_runtime::Json<Point> {
    mcp_runtime::Json(Point { x })
}

#[test]
fn type_docs_are_in_the_schema() {
    let [tool] = tools![point];
    let schema = tool.descriptor().output_schema.as_ref().unwrap();
    assert_eq!(schema["description"], "A point on a plane.");
    assert_eq!(schema["properties"]["x"]["description"], "To the right.");
    assert!(point(1.0).0.x > 0.0);
}
