//! Access tokens: no panic, and one is accepted only if another reader of its JSON would accept it, too.
//!
//! The input is a header, claims and a key set, one per line. It is signed by the one key that the set may contain.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::token::{ISSUER, NOW, RESOURCE, is_accepted};
use serde_json::Value;

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (header, claims, keys) =
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if !is_accepted(header, claims, keys) {
        return;
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("accepted JSON is JSON");
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
