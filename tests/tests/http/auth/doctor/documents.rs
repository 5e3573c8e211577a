//! The document about the resource: where it is, and what it says.

use mcp_runtime::auth::Auth;
use mcp_runtime::auth::doctor::{Check, Doctor, Status};
use serde_json::Value;

use super::proxy::{Answer, Asked, Deployment, found};

/// How a response is spoilt, and what is said about it.
type Row = (fn(&mut Answer), &'static str, &'static str);
/// What becomes of the resource.
type Change = fn(&str) -> String;
type Edit = fn(&Asked, &mut Answer);

#[tokio::test]
async fn document_has_to_be_where_the_challenge_says() {
    let rows: &[Row] = &[
        (|answer| answer.become_page(404), "status 404", "a proxy or router does not pass `/.well-known/` on"),
        (|answer| answer.become_page(200), "with an HTML page", "a web site answers"),
        (|answer| answer.status = 401, "status 401", "exempt it from authentication"),
        (|answer| answer.status = 302, "status 302", "not every client follows a redirect"),
        (|answer| answer.status = 500, "status 500", "the log of the server"),
        (|answer| answer.body = "[]".to_owned(), "not a JSON object", "route `/.well-known/`"),
        (|answer| answer.set("content-type", "text/plain"), "\"text/plain\", not application/json", "Content-Type"),
        // No more than 64 KiB are read.
        (|answer| answer.body += &" ".repeat(100_000), "longer than 64 KiB", "route `/.well-known/`"),
    ];
    for (spoil, words, remedy) in rows {
        let spoil = *spoil;
        let deployment = Deployment::with(move |asked, answer| {
            if asked.is_path_form() {
                spoil(answer);
            }
        })
        .await;
        let diagnosis = deployment.examine().await;
        found(&diagnosis, Check::Document, Status::Failure, words, remedy);
        // The root form is found nevertheless.
        found(&diagnosis, Check::DocumentResource, Status::Ok, "byte for byte", "");
    }
}

#[tokio::test]
async fn places_that_clients_do_not_need_are_no_failures() {
    let diagnosis = Deployment::with(|asked, answer| {
        if asked.is_document() && !asked.is_path_form() {
            answer.become_page(404);
        }
    });
    found(&diagnosis.await.examine().await, Check::Document, Status::Ok, "clients find it elsewhere", "");
    let deployment = Deployment::with(|asked, answer| {
        if asked.is_path_form() {
            answer.become_page(404);
        }
        if let Some((_, value)) = answer.headers.iter_mut().find(|(name, _)| name == "www-authenticate") {
            *value = value.replace("protected-resource/mcp", "protected-resource");
        }
    });
    let diagnosis = deployment.await.examine().await;
    found(&diagnosis, Check::Document, Status::Warning, "protected-resource/mcp: status 404", "route it to the server");
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let nowhere = Deployment::with(|asked, answer| {
        if asked.is_document() {
            answer.become_page(404);
        }
    });
    let diagnosis = nowhere.await.examine().await;
    found(&diagnosis, Check::Document, Status::Failure, "oauth-protected-resource: status 404", "route it");
    found(&diagnosis, Check::IssuerMetadata, Status::Skipped, "no document", "");
}

/// The most reported failure.
#[tokio::test]
async fn resource_has_to_be_the_url_byte_for_byte() {
    let rows: &[(Change, &str)] = &[
        (|url| format!("{url}/"), "differs by the `/` at the end"),
        (|url| url.replace("http:", "https:"), "another scheme: TLS ends at a proxy"),
        (|url| url.replace("/mcp", "/other"), "another path"),
        (|url| url.replace("127.0.0.1", "127.0.0.2"), "another host"),
        (|url| url.replace("http", "HTTP"), "upper and lower case"),
    ];
    for (change, words) in rows {
        let change = *change;
        let deployment = Deployment::with(move |asked, answer| {
            if asked.is_document() && asked.method == "GET" {
                let mut document: Value = serde_json::from_str(&answer.body).unwrap();
                document["resource"] = change(document["resource"].as_str().unwrap()).into();
                answer.body = document.to_string();
            }
        });
        let deployment = deployment.await;
        let diagnosis = deployment.examine().await;
        let remedy = format!("set `.resource(\"{}\")`", deployment.url);
        found(&diagnosis, Check::DocumentResource, Status::Failure, words, &remedy);
        assert!(!diagnosis.is_healthy());
    }
}

/// A client that connects gets tokens which the server accepts.
#[tokio::test]
async fn resource_should_have_the_path() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url.replace("/mcp", "")).scopes(["notes:read"]);
    let diagnosis = Deployment::of(auth, None, |_, _| {}).await.examine().await;
    found(&diagnosis, Check::DocumentResource, Status::Warning, "the origin alone", "set `.resource(");
}

#[tokio::test]
async fn pages_of_other_origins_have_to_be_able_to_read_the_document() {
    let rows: &[(Edit, &str)] = &[
        (|_, answer| answer.remove("access-control-allow-origin"), "no `Access-Control-Allow-Origin`"),
        (
            |_, answer| answer.set("access-control-allow-origin", "https://only.example"),
            "no `Access-Control-Allow-Origin`",
        ),
        (
            |asked, answer| {
                if asked.method == "OPTIONS" {
                    answer.status = 405;
                }
            },
            "a preflight (OPTIONS)",
        ),
        (|_, answer| answer.remove("access-control-allow-headers"), "a preflight (OPTIONS)"),
    ];
    for (spoil, words) in rows {
        let spoil = *spoil;
        let deployment = Deployment::with(move |asked, answer| {
            if asked.is_document() {
                spoil(asked, answer);
            }
        });
        let diagnosis = deployment.await.examine().await;
        found(&diagnosis, Check::DocumentCors, Status::Warning, words, "Access-Control-Allow-Origin: *");
    }
}

#[tokio::test]
async fn document_has_to_name_an_authorization_server() {
    const TOKEN: &str = "token-of-the-ci-server";
    let auth = |_: &str, url: &str| Auth::bearer([("ci", TOKEN)]).resource(url);
    let deployment = Deployment::of(auth, None, |_, _| {}).await;
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::DocumentIssuers, Status::Failure, "do not know where to get a token", "Auth::jwt");
    // Whoever has a token needs none.
    let with_token = Doctor::new(&deployment.url).token(TOKEN).examine().await;
    let configured = auth("", &deployment.url).doctor().await;
    for diagnosis in [with_token, configured] {
        found(&diagnosis, Check::DocumentIssuers, Status::Warning, "given a token can connect", "if there are any");
        assert!(diagnosis.is_healthy(), "{diagnosis}");
    }
}

#[tokio::test]
async fn authorization_server_that_clients_cannot_reach_is_told() {
    for (issuer, words) in [("http://auth.example.com", "not an https URL"), ("file:///etc/passwd", "not an https URL")]
    {
        let deployment = Deployment::with(move |asked, answer| {
            if asked.is_document() {
                let own = answer.body.split("\"authorization_servers\":[\"").nth(1).unwrap().split('"').next().unwrap();
                answer.body = answer.body.replace(&own.to_owned(), issuer);
            }
        });
        let diagnosis = deployment.await.examine().await;
        found(&diagnosis, Check::IssuerMetadata, Status::Failure, words, "https URL");
    }
}
