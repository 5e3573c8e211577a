//! Events of Lambda.

use serde_json::{Value, json};

/// An event of an API Gateway or a function URL (payload format 2.0).
pub fn event(method: &str, headers: Value, body: &Value) -> Value {
    let mut all = json!({
        "host": "abc123.lambda-url.eu-central-1.on.aws",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "x-forwarded-for": "203.0.113.7",
        "x-forwarded-proto": "https",
    });
    all.as_object_mut().unwrap().extend(headers.as_object().unwrap().clone());
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/mcp",
        "rawQueryString": "",
        "headers": all,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "abc123",
            "domainName": "abc123.lambda-url.eu-central-1.on.aws",
            "domainPrefix": "abc123",
            "http": { "method": method, "path": "/mcp", "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "test" },
            "requestId": "1f2e3d4c",
            "routeKey": "$default",
            "stage": "$default",
            "time": "17/Nov/2026:17:00:00 +0000",
            "timeEpoch": 1_794_934_800_000_u64,
        },
        "body": body.to_string(),
        "isBase64Encoded": false,
    })
}
