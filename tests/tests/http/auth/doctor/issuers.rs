//! Authorization servers: whether clients find them, can use them, and the server can verify their tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_runtime::auth::Auth;
use mcp_runtime::auth::doctor::Check::{
    self, Clock, IssuerEndpoints, IssuerKeys, IssuerMetadata, IssuerPkce, IssuerRegistration, IssuerScopes,
};
use mcp_runtime::auth::doctor::{Doctor, Status};
use mcp_tests::fake_issuer::{CLIENT, FakeIssuer, Faults};
use serde_json::{Value, json};

use super::proxy::{Deployment, complete, found};

const RFC_8414: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// The server knows what its handlers need; a client asks for it later.
#[tokio::test]
async fn scopes_of_handlers_are_looked_for_at_the_issuer() {
    let deployment = Deployment::healthy().await;
    let metadata = json!({"scopes_supported": ["notes:read"], "client_id_metadata_document_supported": true});
    deployment.issuer.fail(Faults { metadata, ..Faults::default() });
    let doctor = || Doctor::new(&deployment.url);
    found(&doctor().examine().await, Check::IssuerScopes, Status::Ok, "all that are needed", "");
    let diagnosis = doctor().scopes(["notes:read", "notes:write"]).examine().await;
    found(&diagnosis, Check::IssuerScopes, Status::Warning, "lacks \"notes:write\"", "does not get any token");
}

#[tokio::test]
async fn faults_of_authorization_servers_are_told() {
    let deployment = Deployment::healthy().await;
    let issuer = &deployment.issuer;
    let metadata = |change: Value| Faults { metadata: change, ..Faults::default() };
    let keys = |keys: &str| Faults { keys: Some(keys.to_owned()), ..complete() };
    let small = URL_SAFE_NO_PAD.encode([0xff; 128]);
    let rsa = format!(r#"{{"kty":"RSA","n":"{small}","e":"AQAB"}}"#);
    let good = issuer.jwks();
    let good = good.strip_prefix("{\"keys\":[").and_then(|rest| rest.strip_suffix("]}")).unwrap();
    let (fail, warn) = (Status::Failure, Status::Warning);
    let rows = [
        (Faults { hangs_up: true, ..complete() }, IssuerMetadata, fail, "cannot be reached", "check that it runs"),
        (Faults { status: Some(500), ..complete() }, IssuerMetadata, fail, "has no metadata", "look at these places"),
        (
            Faults { missing: vec![RFC_8414, OPENID], ..complete() },
            IssuerMetadata,
            fail,
            "openid-configuration: status 404",
            "realm or tenant",
        ),
        (
            Faults { other_issuer: Some(format!("{}/", issuer.url)), ..complete() },
            IssuerMetadata,
            fail,
            "`/` at the end",
            "Auth::jwt(\"http://",
        ),
        (
            Faults { other_issuer: Some("https://other.example".into()), ..complete() },
            IssuerMetadata,
            fail,
            "not the same text",
            "Auth::jwt(\"https://other.example\")",
        ),
        (metadata(json!({"token_endpoint": null})), IssuerEndpoints, fail, "no `token_endpoint`", "code grant"),
        (
            metadata(json!({"authorization_endpoint": "/authorize"})),
            IssuerEndpoints,
            fail,
            "no `authorization_endpoint`",
            "code grant",
        ),
        (
            metadata(json!({"authorization_endpoint": null, "grant_types_supported": ["client_credentials"]})),
            IssuerEndpoints,
            warn,
            "people cannot log in",
            "only machines",
        ),
        (metadata(json!({"code_challenge_methods_supported": null})), IssuerPkce, fail, "without S256", "enable PKCE"),
        (
            metadata(json!({"code_challenge_methods_supported": ["plain"]})),
            IssuerPkce,
            fail,
            "\"plain\", without S256",
            "enable PKCE",
        ),
        (Faults::default(), IssuerRegistration, warn, "must be pre-registered", "client id metadata documents"),
        (metadata(json!({"scopes_supported": ["openid"]})), IssuerScopes, warn, "lacks \"notes:read\"", "define them"),
        (metadata(json!({"jwks_uri": null})), IssuerKeys, warn, "no `jwks_uri`", ".jwks_url("),
        (metadata(json!({"jwks_uri": "http://keys.example/jwks"})), IssuerKeys, fail, "not an https URL", "over https"),
        (Faults { missing: vec!["/jwks"], ..complete() }, IssuerKeys, fail, "/jwks: status 404", "has to be public"),
        (
            Faults { redirect: Some("https://cdn.example/jwks".into()), ..complete() },
            IssuerKeys,
            warn,
            "a redirect to \"https://cdn.example/jwks\"",
            "name the URL",
        ),
        (Faults { padding: 100_000, ..complete() }, IssuerKeys, fail, "longer than 64 KiB", "and no others"),
        (keys("{}"), IssuerKeys, fail, "not a JSON Web Key Set", "{\"keys\": […]}"),
        (keys(r#"{"keys":[]}"#), IssuerKeys, fail, "has no keys", "let the issuer sign with"),
        (keys(&format!(r#"{{"keys":[{rsa}]}}"#)), IssuerKeys, fail, "2048 to 8192 bits", "let the issuer sign with"),
        (keys(&format!(r#"{{"keys":[{good},{rsa}]}}"#)), IssuerKeys, warn, "2048 to 8192 bits", "replace it"),
        (
            keys(r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#),
            IssuerKeys,
            fail,
            "private or symmetric",
            "replace the key at once",
        ),
        (
            Faults { date: Some("Sun, 06 Nov 2994 08:49:37 GMT"), ..complete() },
            Clock,
            warn,
            "s ahead of this one",
            "synchronize the clocks",
        ),
    ];
    for (faults, check, status, words, remedy) in rows {
        issuer.fail(faults);
        found(&deployment.examine().await, check, status, words, remedy);
    }
}

/// Not every authorization server has both documents.
#[tokio::test]
async fn metadata_is_found_at_the_later_places() {
    let deployment = Deployment::healthy().await;
    deployment.issuer.fail(Faults { missing: vec![RFC_8414], ..complete() });
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::IssuerMetadata, Status::Ok, OPENID, "");
    assert!(diagnosis.is_healthy(), "{diagnosis}");
}

/// The server is elsewhere: it may not reach what the doctor reaches.
#[tokio::test]
async fn server_that_cannot_get_the_keys_is_told() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url).jwks_url("http://127.0.0.1:1/jwks");
    let deployment = Deployment::of(auth, None, |_, _| {}).await;
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::IssuerKeys, Status::Ok, "1 of 1 keys", "");
    found(&diagnosis, Check::ForgedToken, Status::Failure, "503", "cannot be reached from there");
    // The configuration says where the server looks.
    let diagnosis = auth(&deployment.issuer.url, &deployment.url).doctor().await;
    found(
        &diagnosis,
        Check::IssuerKeys,
        Status::Failure,
        "http://127.0.0.1:1/jwks cannot be reached",
        "nothing listens",
    );
}

#[tokio::test]
async fn introspection_endpoint_is_asked() {
    let auth = |secret: &'static str| {
        move |issuer: &str, url: &str| {
            Auth::introspect(format!("{issuer}/introspect"), CLIENT.0, secret).issuer(issuer).resource(url)
        }
    };
    let deployment = Deployment::of(auth(CLIENT.1), None, |_, _| {}).await;
    let (issuer, url) = (&deployment.issuer, &deployment.url);
    let diagnosis = auth(CLIENT.1)(&issuer.url, url).doctor().await;
    found(&diagnosis, Check::Introspection, Status::Ok, "the endpoint answers", "");
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let diagnosis = auth("another-s3cret")(&issuer.url, url).secret_in_form().doctor().await;
    found(&diagnosis, Check::Introspection, Status::Failure, "are the client's id and secret right?", "503 meanwhile");
    assert!(!format!("{diagnosis:?}").contains("another-s3cret"));
    let parts = Auth::any_of([Auth::bearer([("ci", "token-of-the-ci-server")]), auth(CLIENT.1)(&issuer.url, url)]);
    issuer.fail(Faults { missing: vec!["/introspect"], ..complete() });
    let diagnosis = parts.resource(url).doctor().await;
    found(&diagnosis, Check::Introspection, Status::Failure, "status 404", "check its URL");
    // From the outside: tokens cannot be verified.
    found(&diagnosis, Check::InvalidToken, Status::Failure, "503", "the log of the server");
}

#[tokio::test]
async fn place_of_earlier_clients_is_checked_if_it_is_served() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url).serve_issuer_metadata();
    let deployment = Deployment::of(auth, None, |_, _| {}).await;
    let diagnosis = auth(&deployment.issuer.url, &deployment.url).doctor().await;
    found(&diagnosis, Check::LegacyDiscovery, Status::Ok, RFC_8414, "");
    let deployment = Deployment::of(auth, None, |asked, answer| {
        if asked.path == RFC_8414 {
            answer.become_page(404);
        }
    });
    let deployment = deployment.await;
    let diagnosis = auth(&deployment.issuer.url, &deployment.url).doctor().await;
    found(&diagnosis, Check::LegacyDiscovery, Status::Failure, "`serve_issuer_metadata` is set, but", "route it");
}

#[tokio::test]
async fn each_of_several_authorization_servers_is_examined_up_to_five() {
    let other = FakeIssuer::start().await;
    other.fail(Faults { metadata: json!({"code_challenge_methods_supported": null}), ..Faults::default() });
    let others: Vec<String> = (0..6).map(|path| format!("{}/{path}", other.url)).collect();
    let second = other.url.clone();
    let auth = move |issuer: &str, url: &str| {
        Auth::jwt(issuer).resource(url).authorization_servers([issuer.to_owned(), second]).authorization_servers(others)
    };
    let diagnosis = Deployment::of(auth, None, |_, _| {}).await.examine().await;
    found(&diagnosis, Check::IssuerPkce, Status::Ok, "S256", "");
    found(&diagnosis, Check::IssuerPkce, Status::Failure, "without S256", "enable PKCE");
    found(&diagnosis, Check::IssuerMetadata, Status::Skipped, "3 more authorization servers", "");
}
