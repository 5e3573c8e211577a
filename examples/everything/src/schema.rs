//! A tool with a handwritten schema, for constraints that no Rust type expresses.

use std::borrow::Cow;

use mcp_runtime::prelude::*;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Contact {
    name: Option<String>,
    address: Option<Address>,
    contact_method: Option<Method>,
    phone: Option<String>,
    email: Option<String>,
}

#[derive(Deserialize)]
struct Address {
    city: Option<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Method {
    Phone,
    Email,
}

impl JsonSchema for Contact {
    fn schema_name() -> Cow<'static, str> {
        "Contact".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })
    }
}

/// Returns how to reach a person.
///
/// Clients may ignore the schema, so the tool validates its arguments as well.
#[tool]
fn json_schema_2020_12_tool(#[arg(flatten)] contact: Contact) -> Result<String> {
    let by_phone = contact.contact_method == Some(Method::Phone);
    let (way, number) = if by_phone { ("phone", contact.phone) } else { ("email", contact.email) };
    let number = number.ok_or_else(|| Error::msg(format!("give `{way}`")))?;
    let name = contact.name.as_deref().unwrap_or("somebody");
    let city = contact.address.and_then(|address| address.city).map(|city| format!(" in {city}")).unwrap_or_default();
    Ok(format!("{name}{city}: {number}"))
}

pub fn tools() -> [Tool; 1] {
    tools![json_schema_2020_12_tool]
}
