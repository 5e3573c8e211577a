//! Access tokens: no panic, and one is accepted only if another reader of its JSON would accept it, too.
//!
//! The input is a header, claims and a key set, one per line. It is signed by the one key that the set may contain.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::token::{ISSUER, NOW, RESOURCE, is_accepted};
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (header, claims, keys) =
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if !is_accepted(header, claims, keys) {
        return;
    }
    let (header, claims) = (read(header), read(claims));
    assert!(header["alg"] == "EdDSA" || header["alg"] == "Ed25519", "{header}");
    assert!(header.get("crit").is_none(), "{header}");
    assert_eq!(claims["iss"], ISSUER);
    let audiences = claims["aud"].as_array().cloned().unwrap_or_else(|| vec![claims["aud"].clone()]);
    let resource =
        |name: &Value| name.as_str().is_some_and(|name| name.trim_end_matches('/').eq_ignore_ascii_case(RESOURCE));
    assert!(audiences.iter().any(resource), "{claims}");
    assert!(claims["exp"].as_f64().expect("an expiry") > NOW as f64 - 61.0, "{claims}");
    assert!(claims["nbf"].as_f64().is_none_or(|start| start < NOW as f64 + 61.0), "{claims}");
});

/// The members of an object that a verifier has to look at. The others may contain what JSON allows and no string of Rust can
/// be: half of a surrogate pair.
fn read(text: &str) -> Value {
    let members: HashMap<String, &RawValue> = serde_json::from_str(text).expect("accepted JSON is an object");
    let looked_at = ["alg", "crit", "iss", "aud", "exp", "nbf"];
    let known = members.into_iter().filter(|(name, _)| looked_at.contains(&name.as_str()));
    let parsed = |value: &RawValue| serde_json::from_str::<Value>(value.get()).expect("accepted JSON is JSON");
    known.map(|(name, value)| (name, parsed(value))).collect()
}
