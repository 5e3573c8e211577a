//! Each member of a surface, changed in both directions.

use serde_json::{Value, json};

use super::{Surface, compare};

/// A surface with these members.
fn surface(members: &Value) -> Surface {
    let mut whole = json!({"server": {"name": "s"}});
    whole.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let surface: Surface = serde_json::from_value(whole).unwrap();
    assert_eq!(compare(&surface, &Surface::from_json(&surface.to_json()).unwrap()), [], "{members}");
    surface
}

/// The differences from one to the other, and back: `class place: change`.
#[track_caller]
fn both_ways(one: &Value, other: &Value, there: &[&str], back: &[&str]) {
    let (one, other) = (surface(one), surface(other));
    for (old, new, expected) in [(&one, &other, there), (&other, &one, back)] {
        let found = compare(old, new);
        let shown: Vec<String> = found.iter().map(|found| format!("{:?} {found}", found.class)).collect();
        assert_eq!(shown, expected);
    }
}

/// A change of one tool.
#[track_caller]
fn tool(one: &Value, other: &Value, there: &[&str], back: &[&str]) {
    let with = |members: &Value| {
        let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        tool.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"tools": [tool]})
    };
    both_ways(&with(one), &with(other), there, back);
}

#[test]
fn server_is_compared_by_its_name() {
    let server = |members: Value| json!({"server": members});
    both_ways(
        &server(json!({"name": "a", "title": "A"})),
        &server(json!({"name": "b", "icons": [{"src": "https://example.com/a.png"}]})),
        &[
            r#"Breaking server › name: "a" → "b""#,
            r#"Cosmetic server › title: "A" → none"#,
            r#"Cosmetic server › icons: [] → [{"src":"https://example.com/a.png"}]"#,
        ],
        &[
            r#"Breaking server › name: "b" → "a""#,
            r#"Cosmetic server › title: none → "A""#,
            r#"Cosmetic server › icons: [{"src":"https://example.com/a.png"}] → []"#,
        ],
    );
}

#[test]
fn capabilities_are_offered_or_not() {
    both_ways(
        &json!({"capabilities": {"tools": {}, "extensions": {"example.com/a": {"size": 1}}}}),
        &json!({"capabilities": {"tools": {"listChanged": true}, "extensions": {"example.com/a": {"size": 2}}}}),
        &[
            "Breaking capabilities › extensions › example.com/a › size: 1 → 2: changed in a way that cannot be compared",
            "Additive capabilities › tools › listChanged: new",
        ],
        &[
            "Breaking capabilities › tools › listChanged: removed",
            "Breaking capabilities › extensions › example.com/a › size: 2 → 1: changed in a way that cannot be compared",
        ],
    );
}

#[test]
fn lists_are_compared_by_name_whatever_their_order() {
    let named = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    both_ways(
        &json!({"tools": [named("a"), named("b")]}),
        &json!({"tools": [named("c"), named("b"), named("a")]}),
        &["Additive tool c: new", "Cosmetic tools: listed in another order"],
        &["Breaking tool c: removed", "Cosmetic tools: listed in another order"],
    );
}

#[test]
fn result_has_a_schema_or_not() {
    tool(
        &json!({}),
        &json!({"outputSchema": {"type": "object"}}),
        &["Additive tool t › result: has a schema now"],
        &["Breaking tool t › result: has no schema any more"],
    );
}

#[test]
fn hints_are_promises() {
    let hints = |members: Value| json!({"annotations": members});
    let place = "tool t › annotations";
    for (hint, promise) in
        [("readOnlyHint", true), ("destructiveHint", false), ("idempotentHint", true), ("openWorldHint", false)]
    {
        tool(
            &hints(json!({})),
            &hints(json!({hint: promise})),
            &[&format!("Additive {place} › {hint}: now {promise}")],
            &[&format!("Breaking {place} › {hint}: no longer {promise}: clients may rely on it")],
        );
        let default = format!(r#"{{}} → {{"{hint}":{}}}"#, !promise);
        let back = format!(r#"{{"{hint}":{}}} → {{}}"#, !promise);
        tool(
            &hints(json!({})),
            &hints(json!({hint: !promise})),
            &[&format!("Cosmetic {place}: {default}")],
            &[&format!("Cosmetic {place}: {back}")],
        );
    }
    let read_only = hints(json!({"readOnlyHint": true}));
    let gone = format!("Breaking {place} › readOnlyHint: no longer true: clients may rely on it");
    let now = format!("Additive {place} › readOnlyHint: now true");
    tool(&read_only, &hints(json!({"destructiveHint": true})), &[&gone], &[&now]);
}

#[test]
fn calls_may_become_tasks() {
    let tasks = |support: &str| json!({"execution": {"taskSupport": support}});
    let place = "tool t › tasks";
    tool(
        &json!({}),
        &tasks("optional"),
        &[&format!("Additive {place}: none → \"optional\"")],
        &[&format!("Breaking {place}: \"optional\" → none")],
    );
    tool(
        &tasks("optional"),
        &tasks("required"),
        &[&format!("Breaking {place}: \"optional\" → \"required\"")],
        &[&format!("Additive {place}: \"required\" → \"optional\"")],
    );
    tool(
        &json!({}),
        &tasks("forbidden"),
        &[&format!("Cosmetic {place}: none → \"forbidden\"")],
        &[&format!("Cosmetic {place}: \"forbidden\" → none")],
    );
}

#[test]
fn metadata_and_requirements_are_compared() {
    tool(
        &json!({}),
        &json!({"_meta": {"example.com/cost": 1}}),
        &["Additive tool t › _meta › example.com/cost: new"],
        &["Breaking tool t › _meta › example.com/cost: 1 → none: changed in a way that cannot be compared"],
    );
    tool(
        &json!({}),
        &json!({"requires": ["sampling"]}),
        &["Breaking tool t › requires: the client must have the capability `sampling`"],
        &["Additive tool t › requires: the client need not have the capability `sampling`"],
    );
    tool(
        &json!({}),
        &json!({"scopes": ["notes:write"]}),
        &["Breaking tool t › scopes: callers need the scope `notes:write`"],
        &["Additive tool t › scopes: callers need not have the scope `notes:write`"],
    );
}

#[test]
fn prompts_are_compared_by_their_arguments() {
    let prompt = |arguments: Value| json!({"prompts": [{"name": "p", "arguments": arguments}]});
    both_ways(
        &prompt(json!([{"name": "a", "required": true}, {"name": "b", "required": false}])),
        &prompt(json!([{"name": "b", "required": false}, {"name": "a", "required": false, "description": "A."}])),
        &[
            "Additive prompt p › argument a: was required, is optional",
            r#"Cosmetic prompt p › argument a › description: none → "A.""#,
            r#"Cosmetic prompt p › arguments › order: ["a","b"] → ["b","a"]"#,
        ],
        &[
            "Breaking prompt p › argument a: was optional, is required",
            r#"Cosmetic prompt p › argument a › description: "A." → none"#,
            r#"Cosmetic prompt p › arguments › order: ["b","a"] → ["a","b"]"#,
        ],
    );
    both_ways(
        &prompt(json!([])),
        &prompt(json!([{"name": "a", "required": true}, {"name": "b"}])),
        &["Breaking prompt p › argument a: new, and required", "Additive prompt p › argument b: new, and optional"],
        &["Breaking prompt p › argument a: removed", "Breaking prompt p › argument b: removed"],
    );
}

#[test]
fn resources_are_compared_by_their_uri() {
    let resource = |uri: &str, members: Value| {
        let mut resource = json!({"uri": uri, "name": "r"});
        resource.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"resources": [resource]})
    };
    both_ways(
        &resource("a://1", json!({})),
        &resource("a://2", json!({})),
        &["Breaking resource a://1 › uri: a://1 → a://2"],
        &["Breaking resource a://2 › uri: a://2 → a://1"],
    );
    both_ways(
        &resource("a://1", json!({})),
        &resource("a://1", json!({"mimeType": "text/plain", "subscribe": true, "size": 3})),
        &[
            "Additive resource a://1 › subscribe: false → true",
            r#"Additive resource a://1 › mimeType: none → "text/plain""#,
        ],
        &[
            "Breaking resource a://1 › subscribe: true → false",
            r#"Breaking resource a://1 › mimeType: "text/plain" → none"#,
        ],
    );
    let template = |uri: &str| json!({"resourceTemplates": [{"uriTemplate": uri, "name": "t"}]});
    both_ways(
        &template("a://{id}"),
        &template("a://{number}"),
        &["Breaking template a://{id} › uriTemplate: a://{id} → a://{number}"],
        &["Breaking template a://{number} › uriTemplate: a://{number} → a://{id}"],
    );
}
