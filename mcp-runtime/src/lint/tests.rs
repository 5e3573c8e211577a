//! Each rule, with a case that it finds and one that it must not.

use serde_json::{Map, Value, json};

use super::{LintOptions, Rule, check};
use crate::protocol::{PromptDescriptor, ToolDescriptor};
use crate::surface::{Identity, Offered, Surface};

fn surface(tools: Vec<ToolDescriptor>) -> Surface {
    let offered = |item| Offered {
        item,
        requires: Vec::new(),
        scopes: Vec::new(),
        subscribe: false,
        returns_plain_json: false,
        idle_layers: Vec::new(),
    };
    Surface {
        server: Identity {
            name: "server".to_owned(),
            title: None,
            description: None,
            website_url: None,
            icons: Vec::new(),
        },
        instructions: None,
        capabilities: Map::new(),
        tools: tools.into_iter().map(offered).collect(),
        prompts: Vec::new(),
        resources: Vec::new(),
        resource_templates: Vec::new(),
        methods: Vec::new(),
        notifications: Vec::new(),
    }
}

/// A tool that no rule has anything against.
fn tool(name: &str) -> ToolDescriptor {
    with(name, json!({"type": "object", "properties": {}}))
}

fn with(name: &str, schema: Value) -> ToolDescriptor {
    ToolDescriptor::new(name, schema).with_description("Does something.")
}

/// A tool with one argument `x`.
fn taking(mut schema: Value) -> ToolDescriptor {
    schema["description"] = json!("An argument.");
    with("t", json!({"type": "object", "properties": {"x": schema}}))
}

/// The rules and places of the findings.
fn found(tools: Vec<ToolDescriptor>) -> Vec<(Rule, String)> {
    let findings = check(&surface(tools), &LintOptions::new());
    findings.into_iter().map(|finding| (finding.rule, finding.place)).collect()
}

#[track_caller]
fn confused(one: &str, other: &str, expected: bool) {
    let found = found(vec![tool(one), tool(other)]);
    let finding = (Rule::ConfusingNames, format!("tool {other}"));
    assert_eq!(found, if expected { vec![finding] } else { Vec::new() }, "{one}, {other}");
}

#[test]
fn near_duplicates_are_found() {
    confused("get_user", "getUser", true);
    confused("get_user", "get-User", true);
    confused("get_user", "user_get", true);
    confused("list_note", "list_notes", true);
    confused("list_category", "list_categories", true);
    confused("set_color", "set_colour", true);
    confused("UserList", "list_users", true);
}

#[test]
fn different_names_are_not_confused() {
    confused("get_user", "set_user", false);
    confused("add", "and", false);
    confused("import_notes", "export_notes", false);
    confused("encode", "decode", false);
    confused("watch_file", "patch_file", false);
    confused("step_v1", "step_v2", false);
    confused("test_1", "test_2", false);
    confused("read", "read_all", false);
    confused("search", "search_tags", false);
    confused("status", "state", false);
    confused("add_add", "add", false);
}

#[test]
fn arguments_of_one_tool_are_not_confused() {
    let described = || json!({"type": "string", "description": "Text."});
    let arguments = |one: &str, other: &str| {
        let mut properties = Map::new();
        properties.insert(one.to_owned(), described());
        properties.insert(other.to_owned(), described());
        with("t", json!({"type": "object", "properties": properties}))
    };
    let twice = (Rule::ConfusingNames, "tool t › argument user_id".to_owned());
    assert_eq!(found(vec![arguments("userId", "user_id")]), [twice]);
    assert_eq!(found(vec![arguments("from", "to")]), []);
}

#[test]
fn missing_descriptions_are_found() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {}, "b": {"description": "B."}, "c": {"$ref": "#/$defs/C"}, "d": {"description": " "}},
        "$defs": {"C": {"type": "string", "description": "A type that says what it is."}},
    });
    let missing = |place: &str| (Rule::MissingDescription, place.to_owned());
    assert_eq!(
        found(vec![ToolDescriptor::new("t", schema)]),
        [missing("tool t"), missing("tool t › argument a"), missing("tool t › argument d")]
    );
    let mut prompts = surface(Vec::new());
    let prompt = json!({"name": "p", "arguments": [{"name": "a"}, {"name": "b", "description": "B."}]});
    let prompt: PromptDescriptor = serde_json::from_value(prompt).unwrap();
    prompts.prompts.push(Offered {
        item: prompt,
        requires: Vec::new(),
        scopes: Vec::new(),
        subscribe: false,
        returns_plain_json: false,
        idle_layers: Vec::new(),
    });
    let places = check(&prompts, &LintOptions::new()).into_iter().map(|finding| finding.place);
    assert_eq!(places.collect::<Vec<_>>(), ["prompt p", "prompt p › argument a"]);
}

#[test]
fn refused_names_are_found() {
    let refused = |name: &str| found(vec![tool(name)]) == [(Rule::RefusedName, format!("tool {name}"))];
    assert!(refused("notes.search"));
    assert!(refused(&"x".repeat(65)));
    assert!(refused(&"x".repeat(60 - "server".len())), "Cursor counts the server's name");
    assert!(!refused(&"x".repeat(59 - "server".len())));
    assert!(!refused("notes_search-2"));
    for (name, expected) in [("büro", true), ("a b", true), ("user.name", false), ("user-name_2", false)] {
        let schema = json!({"type": "object", "properties": {name: {"description": "An argument."}}});
        let place = (Rule::RefusedName, format!("tool t › argument {name}"));
        assert_eq!(found(vec![with("t", schema)]) == [place], expected, "{name}");
    }
}

#[track_caller]
fn refused(tool: ToolDescriptor, place: Option<&str>) {
    let expected: Vec<_> = place.into_iter().map(|place| (Rule::RefusedSchema, place.to_owned())).collect();
    let schema = tool.input_schema.to_string();
    assert_eq!(found(vec![tool]), expected, "{schema}");
}

#[test]
fn refused_schemas_are_found_at_the_top() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        refused(with("t", json!({"type": "object", "properties": {}, keyword: []})), Some("tool t"));
    }
    refused(with("t", json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}})), Some("tool t"));
    refused(with("t", json!({"type": "string"})), Some("tool t"));
    refused(with("t", json!({"type": "object"})), Some("tool t"));
    refused(with("t", json!({"type": "object", "properties": {}})), None);
    refused(tool("t"), None);
}

#[test]
fn refused_schemas_are_found_inside() {
    refused(taking(json!({"type": ["string", "null"]})), Some("tool t › argument x"));
    refused(taking(json!({"type": "string"})), None);
    refused(taking(json!({"type": "array"})), Some("tool t › argument x"));
    refused(taking(json!({"type": "array", "items": {}})), None);
    refused(taking(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})), None);
    let nested = json!({"type": "object", "properties": {"y": {"items": {"type": ["integer", "null"]}}}});
    refused(taking(nested), Some("tool t › argument x › field y › items"));
}

#[test]
fn references_that_are_refused_are_found() {
    let with_definition = |argument: Value, definition: Value| {
        let argument = [("x".to_owned(), argument)].into_iter().collect::<Map<_, _>>();
        with("t", json!({"type": "object", "properties": argument, "$defs": {"D": definition}}))
    };
    let reference = json!({"$ref": "#/$defs/D", "description": "An argument."});
    let tree = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/D"}}}});
    refused(with_definition(reference.clone(), tree), Some("tool t › argument x › field children › items"));
    refused(with_definition(reference.clone(), json!({"type": "string"})), None);
    let mut beside = reference;
    beside["maxLength"] = json!(3);
    refused(with_definition(beside, json!({"type": "string"})), Some("tool t › argument x"));
}

#[test]
fn budgets_are_estimated() {
    let long =
        |name: &str, bytes: usize| ToolDescriptor::new(name, tool("").input_schema).with_description("x".repeat(bytes));
    assert_eq!(found(vec![long("t", 3_800)]), []);
    assert_eq!(found(vec![long("t", 4_000)]), [(Rule::TokenBudget, "tool t".to_owned())]);
    let many: Vec<_> = (0..11).map(|index| long(&format!("t{index}"), 3_800)).collect();
    assert_eq!(found(many.clone()), [(Rule::TokenBudget, "tools".to_owned())]);
    let options = LintOptions::new().list_tokens(20_000);
    assert_eq!(check(&surface(many.clone()), &options), []);
    assert_eq!(check(&surface(many), &options.tool_tokens(10)).len(), 11);
}

#[test]
fn deleting_tools_have_a_hint() {
    let missing = |name: &str| vec![(Rule::MissingHint, format!("tool {name}"))];
    for name in ["delete_note", "notes_delete", "dropTable", "purge"] {
        assert_eq!(found(vec![tool(name)]), missing(name));
        for hint in ["destructiveHint", "readOnlyHint"] {
            let mut hinted = tool(name);
            hinted.annotations = serde_json::from_value(json!({hint: true})).unwrap();
            assert_eq!(found(vec![hinted]), [], "{name} with {hint}");
        }
    }
    assert_eq!(found(vec![tool("list_deleted"), tool("dropdown"), tool("undelete")]), []);
    let mut contradiction = tool("look");
    contradiction.annotations = serde_json::from_value(json!({"readOnlyHint": true, "destructiveHint": true})).unwrap();
    assert_eq!(found(vec![contradiction]), missing("look"));
}

#[test]
fn findings_can_be_allowed() {
    let undescribed = || surface(vec![ToolDescriptor::new("add", json!({"type": "object", "properties": {"a": {}}}))]);
    let places = |options: LintOptions| -> Vec<String> {
        check(&undescribed(), &options).into_iter().map(|finding| finding.place).collect()
    };
    let rule = Rule::MissingDescription;
    assert_eq!(places(LintOptions::new()), ["tool add", "tool add › argument a"]);
    assert_eq!(places(LintOptions::new().allow(rule, "tool add › argument a")), ["tool add"]);
    assert_eq!(places(LintOptions::new().allow(rule, "tool add")), [""; 0]);
    assert_eq!(places(LintOptions::new().allow(rule, "tool ad")).len(), 2);
    assert_eq!(places(LintOptions::new().allow(Rule::TokenBudget, "tool add")).len(), 2);
    assert_eq!(places(LintOptions::new().allow_everywhere(rule)), [""; 0]);
}
