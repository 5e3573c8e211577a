//! `Auth::doctor`: deployments in order, and broken ones, each with the finding that says so.

mod documents;
mod endpoints;
mod issuers;
mod proxy;

use mcp_runtime::auth::Auth;
use mcp_runtime::auth::doctor::{Check, Doctor, Status};

use self::proxy::{Deployment, found};

#[tokio::test]
async fn deployment_in_order_has_only_good_findings() {
    let deployment = Deployment::healthy().await;
    let token = deployment.issuer.access_token(&deployment.url, "alice", "notes:read");
    let diagnosis = Doctor::new(&deployment.url).token(token).examine().await;
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    assert_eq!(diagnosis.count(Status::Warning), 0, "{diagnosis}");
    assert_eq!(diagnosis.resource, deployment.url);
    for check in [
        Check::Url,
        Check::Challenge,
        Check::ChallengeDocument,
        Check::ChallengeScope,
        Check::Clock,
        Check::InvalidToken,
        Check::TokenInUrl,
        Check::Token,
        Check::Document,
        Check::DocumentResource,
        Check::DocumentCors,
        Check::DocumentScopes,
        Check::DocumentIssuers,
        Check::IssuerMetadata,
        Check::IssuerEndpoints,
        Check::IssuerPkce,
        Check::IssuerRegistration,
        Check::IssuerKeys,
        Check::ForgedToken,
    ] {
        found(&diagnosis, check, Status::Ok, "", "");
    }
    found(&diagnosis, Check::LegacyDiscovery, Status::Skipped, "serve_issuer_metadata", "");
    let table = diagnosis.to_string();
    assert!(table.starts_with(&format!("{}\n\nok       url  ", deployment.url)), "{table}");
    assert!(table.contains("ok       challenge            401, with a Bearer challenge\n"), "{table}");
    assert!(table.ends_with(" checks, 0 failed, 0 with a warning"), "{table}");
}

/// What it opens, it closes.
#[tokio::test]
async fn no_session_is_left() {
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&ended);
    let deployment = Deployment::with(move |asked, _| {
        counted
            .fetch_add(usize::from(asked.method == "DELETE" && asked.has_token), std::sync::atomic::Ordering::SeqCst);
    })
    .await;
    let token = deployment.issuer.access_token(&deployment.url, "alice", "notes:read");
    let _ = Doctor::new(&deployment.url).token(token).examine().await;
    assert_eq!(ended.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn urls_that_cannot_be_typed_are_told() {
    for (url, words) in [
        ("", "the resource is empty"),
        ("mcp.example.com/mcp", "write `https://mcp.example.com/mcp`"),
        ("http://mcp.example.com/mcp", "write `https://mcp.example.com/mcp`"),
        ("https://mcp.example.com/mcp?a=1", "query"),
    ] {
        // It may be a task of its own.
        let diagnosis = tokio::spawn(Doctor::new(url).examine()).await.unwrap();
        found(&diagnosis, Check::Url, Status::Failure, words, "URL that people type");
        assert_eq!(diagnosis.findings.len(), 1);
    }
    let deployment = Deployment::healthy().await;
    let diagnosis = Doctor::new(format!("{}/", deployment.url)).examine().await;
    found(&diagnosis, Check::Url, Status::Warning, "ends with `/`", "without the `/`");
    found(&diagnosis, Check::DocumentResource, Status::Failure, "`/` at the end", "without the `/`");
}

#[tokio::test]
async fn server_that_is_away_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let diagnosis = Doctor::new(url).examine().await;
    found(&diagnosis, Check::Challenge, Status::Failure, "cannot be reached", "nothing listens there");
    found(&diagnosis, Check::Document, Status::Skipped, "cannot be reached", "");
}

#[tokio::test]
async fn mistakes_of_the_configuration_are_told() {
    let deployment = Deployment::healthy().await;
    let auth = Auth::jwt(&deployment.issuer.url).resource(&deployment.url).scopes(["two words"]).cache_answers();
    let diagnosis = auth.doctor().await;
    found(&diagnosis, Check::Configuration, Status::Failure, "two words", "correct it");
    found(&diagnosis, Check::Configuration, Status::Failure, "`cache_answers` does not fit", "correct it");
    found(&diagnosis, Check::Challenge, Status::Ok, "401", "");
    found(&Auth::jwt("https://h").doctor().await, Check::Url, Status::Failure, "empty", "URL that people type");
}
