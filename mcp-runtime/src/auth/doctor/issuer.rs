//! An authorization server: whether clients find its metadata, and can get a token there.

use serde_json::Value;

use super::document::texts;
use super::keys;
use super::report::{Check, Report};
use super::visit::{self, Visit, quote, unreachable};
use crate::auth::fetch::check_url;
use crate::auth::keys::discovery::urls;
use crate::auth::resource::ResourceUrl;

/// What an authorization server is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs<'a> {
    pub(super) resource: &'a ResourceUrl,
    /// The scopes that clients will ask for.
    pub(super) scopes: &'a [String],
    /// Where the server gets its keys, if not where the metadata says.
    pub(super) keys_at: Option<&'a str>,
}

pub(super) async fn examine(visit: &Visit, issuer: &str, needs: Needs<'_>, report: &mut Report) {
    let check = Check::IssuerMetadata;
    if let Err(why) = check_url(issuer) {
        return report.fail(check, format!("the authorization server {why}"), "name it by its https URL");
    }
    if !visit::may_name(needs.resource, issuer) {
        let seen = format!(
            "the authorization server {} is on a loopback address: clients elsewhere cannot reach it",
            quote(issuer)
        );
        return report.fail(check, seen, "name it by the https URL that clients use");
    }
    let metadata = find(visit, issuer, report).await;
    if let Some(metadata) = &metadata {
        endpoints(issuer, metadata, report);
        registration(issuer, metadata, report);
        scopes(issuer, metadata, needs.scopes, report);
    }
    let named = metadata.as_ref().and_then(|metadata| metadata["jwks_uri"].as_str());
    match needs.keys_at.or(named) {
        Some(url) => keys::examine(visit, issuer, url, report).await,
        None if metadata.is_none() => report.skip(Check::IssuerKeys, "there is no metadata that says where they are"),
        None => report.warn(
            Check::IssuerKeys,
            format!("the metadata of {issuer} has no `jwks_uri`: `Auth::jwt` finds no keys"),
            "set `.jwks_url(…)`; if its tokens are opaque, use `Auth::introspect`",
        ),
    }
}

/// The metadata that a client finds first.
async fn find(visit: &Visit, issuer: &str, report: &mut Report) -> Option<Value> {
    let check = Check::IssuerMetadata;
    let mut tried = Vec::new();
    for url in urls(issuer) {
        let reply = match visit.get(&url).await {
            Ok(reply) => reply,
            Err(why) => {
                // A server that cannot be reached has no other documents.
                report.fail(check, format!("{url} cannot be reached: {why}"), unreachable(&why));
                return None;
            }
        };
        if tried.is_empty() {
            reply.check_clock(issuer, report);
        }
        if reply.status() != 200 {
            tried.push(format!("{url}: {}", reply.summary()));
            continue;
        }
        let Some(metadata) = reply.json() else {
            tried.push(format!("{url}: not a JSON object"));
            continue;
        };
        let named = metadata["issuer"].as_str().unwrap_or_default();
        if named == issuer {
            report.ok(check, url);
            return Some(metadata);
        }
        let is_almost = named.trim_end_matches('/') == issuer.trim_end_matches('/');
        let why = if is_almost { "it differs by the `/` at the end" } else { "it is not the same text" };
        report.fail(
            check,
            format!(
                "{url}: `issuer` is {}, and {issuer} was asked for: {why}, so clients and the server refuse it",
                quote(named)
            ),
            format!("name the issuer as it names itself: `Auth::jwt({named:?})`"),
        );
        return None;
    }
    report.fail(
        check,
        format!("{issuer} has no metadata: {}", tried.join("; ")),
        "check the URL of the issuer, its path included (a realm or tenant); clients and the server look at these places",
    );
    None
}

fn endpoints(issuer: &str, metadata: &Value, report: &mut Report) {
    let grants = texts(&metadata["grant_types_supported"]);
    let is_for_people = grants.is_empty() || grants.iter().any(|grant| grant == "authorization_code");
    let names = if is_for_people { &["authorization_endpoint", "token_endpoint"][..] } else { &["token_endpoint"] };
    let url = |name: &str| metadata[name].as_str().filter(|url| check_url(url).is_ok());
    let missing: Vec<String> =
        names.iter().filter(|name| url(name).is_none()).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let seen = format!("the metadata of {issuer} has no {} with an https URL", missing.join(" and no "));
        report.fail(
            Check::IssuerEndpoints,
            seen,
            "clients get no token there: use an authorization server with the code grant",
        );
    } else if is_for_people {
        report.ok(Check::IssuerEndpoints, "`authorization_endpoint` and `token_endpoint`");
    } else {
        report.warn(
            Check::IssuerEndpoints,
            format!("{issuer} has no authorization code grant: people cannot log in"),
            "enable it, unless only machines are clients",
        );
    }
    let methods = texts(&metadata["code_challenge_methods_supported"]);
    if !is_for_people {
        report.skip(Check::IssuerPkce, "there is no code grant");
    } else if methods.iter().any(|method| method == "S256") {
        report.ok(Check::IssuerPkce, "S256");
    } else {
        report.fail(
            Check::IssuerPkce,
            format!(
                "`code_challenge_methods_supported` of {issuer} is {}, without S256: clients refuse it",
                quote(&methods.join(" "))
            ),
            "enable PKCE with S256 at the authorization server, and let its metadata say so",
        );
    }
}

fn registration(issuer: &str, metadata: &Value, report: &mut Report) {
    let by_document = metadata["client_id_metadata_document_supported"] == true;
    let by_request = metadata["registration_endpoint"].is_string();
    match (by_document, by_request) {
        (true, _) => report.ok(Check::IssuerRegistration, "by client id metadata documents"),
        (false, true) => report.ok(Check::IssuerRegistration, "dynamic, at `registration_endpoint`"),
        (false, false) => report.warn(
            Check::IssuerRegistration,
            format!("clients cannot register at {issuer} by themselves: they must be pre-registered"),
            "enable client id metadata documents or dynamic registration, or give people a client id for their client",
        ),
    }
}

fn scopes(issuer: &str, metadata: &Value, needed: &[String], report: &mut Report) {
    let known = texts(&metadata["scopes_supported"]);
    if known.is_empty() {
        return report.skip(Check::IssuerScopes, format!("{issuer} does not list its scopes"));
    }
    let missing: Vec<&str> = needed.iter().filter(|scope| !known.contains(scope)).map(String::as_str).collect();
    if missing.is_empty() {
        return report.ok(Check::IssuerScopes, "it lists all that are needed");
    }
    report.warn(
        Check::IssuerScopes,
        format!("`scopes_supported` of {issuer} lacks {}, which the server needs", quote(&missing.join(" "))),
        "define them at the authorization server, if it does not know them, or change the scopes of the server: a client that asks \
         for a scope that is not known there does not get any token",
    );
}

#[cfg(test)]
mod tests {
    use super::super::report::Status;
    use super::*;
    use crate::auth::fetch::https::HttpsFetcher;

    /// Nor is it asked: a document from elsewhere must not choose whom this machine talks to.
    #[tokio::test]
    async fn public_server_has_no_authorization_server_on_loopback() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (visit, mut report) = (Visit { client: HttpsFetcher::new() }, Report::default());
        let resource = ResourceUrl::parse("https://h.example/mcp").unwrap();
        let needs = Needs { resource: &resource, scopes: &[], keys_at: None };
        examine(&visit, &issuer, needs, &mut report).await;
        let [finding] = &report.findings[..] else { panic!("{report:?}") };
        assert_eq!(finding.status, Status::Failure);
        assert!(finding.seen.contains("clients elsewhere cannot reach it"), "{finding:?}");
        assert!(listener.accept().is_err(), "nobody has connected");
    }
}
