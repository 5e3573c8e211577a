//! The endpoint: what it answers without a token, and with one that is invalid, forged, in the URL, or given.

use serde_json::json;

use super::configured::Configured;
use super::report::{Check, Report};
use super::visit::{Reply, Visit, quote, unreachable};
use super::www_authenticate::ReceivedChallenge;
use crate::auth::clock;
use crate::auth::jose::base64url;
use crate::auth::resource::{ResourceUrl, WELL_KNOWN};

/// A token that no server knows.
const INVALID: &str = "mcp-doctor-invalid-token";

/// What is known of an endpoint.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The challenge of a request without a token, or else of one with an invalid token.
    pub(super) challenge: Option<ReceivedChallenge>,
    /// Whether callers without a token are served.
    is_open: bool,
    /// Whether a token makes no difference: it may not arrive.
    ignores_tokens: bool,
}

/// Asks without a token and with invalid ones. `None` if there is no answer at all.
pub(super) async fn examine(
    visit: &Visit,
    url: &ResourceUrl,
    configured: &Configured,
    report: &mut Report,
) -> Option<Endpoint> {
    let anonymous = match visit.post(url.as_str(), None).await {
        Ok(reply) => reply,
        Err(why) => {
            let seen = format!("the server cannot be reached: {why}");
            report.fail(Check::Challenge, seen, unreachable(&why));
            return None;
        }
    };
    let invalid = visit.post(url.as_str(), Some(INVALID)).await;
    let refuses = invalid.as_ref().is_ok_and(|reply| reply.status() == 401);
    without_token(&anonymous, url, (configured.is_optional, refuses), report);
    anonymous.check_clock("the server", report);
    let challenge = anonymous.challenge().or_else(|| invalid.as_ref().ok()?.challenge());
    match &challenge {
        Some(challenge) => {
            document_of(challenge, url, report);
            scopes_of(challenge, report);
        }
        None => report.skip(Check::ChallengeDocument, "there is no challenge"),
    }
    let is_same = |reply: &Reply| reply.status() == 401 && reply.challenges() == anonymous.challenges();
    let ignores_tokens = invalid.as_ref().is_ok_and(|reply| is_same(reply) && error_of(reply).is_none());
    let endpoint = Endpoint { challenge, is_open: anonymous.status() == 200, ignores_tokens };
    match invalid {
        Ok(reply) if endpoint.challenge.is_none() && reply.status() == anonymous.status() => {
            report.skip(Check::InvalidToken, "the answer is the same as without a token");
        }
        Ok(_) if endpoint.ignores_tokens => with_ignored_token(configured.is_ours, report),
        Ok(reply) => with_invalid_token(&reply, report),
        Err(why) => report.fail(Check::InvalidToken, format!("no answer: {why}"), unreachable(&why)),
    }
    token_in_url(visit, url, &endpoint, report).await;
    Some(endpoint)
}

fn without_token(reply: &Reply, url: &ResourceUrl, (may_be_open, refuses): (bool, bool), report: &mut Report) {
    match reply.status() {
        401 => with_401(reply, report),
        200 if refuses && may_be_open => {
            report.ok(Check::Challenge, "callers without a token are served, as `Auth::optional` says");
        }
        200 if refuses => report.warn(
            Check::Challenge,
            "callers without a token are served, but an invalid token is rejected: authorization is optional",
            "leave `.optional()` out if every caller needs a token",
        ),
        200 if reply.is_html() => report.fail(
            Check::Challenge,
            "status 200, with an HTML page: not the server answers, but a proxy or a web site",
            "route this path to the server; Claude says \"Couldn't reach the MCP server\" without a 401",
        ),
        200 => report.fail(
            Check::Challenge,
            "everybody is served, without a token and with an invalid one: there is no authorization",
            "pass the `Auth` to `HttpService::authorize` or `Server::authorize`, and deploy that",
        ),
        _ => {
            let (seen, remedy) = explain(reply, url);
            report.fail(Check::Challenge, format!("{seen}, instead of 401"), remedy);
        }
    }
}

fn with_401(reply: &Reply, report: &mut Report) {
    let challenges = reply.challenges();
    if let Some(challenge) = challenges.iter().find(|challenge| challenge.is_for_tokens()) {
        return report.ok(Check::Challenge, format!("401, with a {} challenge", challenge.scheme));
    }
    match challenges.first() {
        None => report.fail(
            Check::Challenge,
            "401 without `WWW-Authenticate`: clients do not learn where to get a token",
            "a proxy strips the header or answers itself: let it pass; Claude says \"Couldn't reach the MCP server\"",
        ),
        Some(other) => report.fail(
            Check::Challenge,
            format!(
                "401 with a challenge of another kind, {}: a proxy asks for credentials of its own",
                quote(&other.scheme)
            ),
            "exempt this path from the proxy's authentication: `Authorization` is for the server's token",
        ),
    }
}

/// What an unexpected status means, and what to do.
fn explain(reply: &Reply, url: &ResourceUrl) -> (String, String) {
    let text = reply.text();
    let remedy = match reply.status() {
        300..=399 => redirect(reply.location(), url),
        403 if text.contains("host `") && text.contains("is not allowed") => format!(
            "the proxy sends another `Host` than {}: let it pass the header on, or name the host in `allow_hosts`",
            url.host()
        ),
        403 => "a firewall or proxy refuses the request: exempt this path".to_owned(),
        404 => "no server is at this path: check the URL (the path is that of `HttpService::endpoint`, `/mcp` by default) and \
                the routes of the proxy"
            .to_owned(),
        405 => "POST does not reach the server: a web site or an SSE-only server answers; route this path to the server".to_owned(),
        500 => "the log of the server says why; \"authorization is not set up\" comes with what to change".to_owned(),
        502..=504 => "a proxy answers, because the server behind it does not: start it, and check the proxy's upstream".to_owned(),
        _ if reply.is_html() => "a proxy or a web site answers: route this path to the server".to_owned(),
        _ => "the log of the server, or of a proxy before it, says why".to_owned(),
    };
    let told = reply.json().and_then(|body| body["error"]["message"].as_str().map(quote));
    (reply.summary() + &told.map(|text| format!(" ({text})")).unwrap_or_default(), remedy)
}

fn redirect(to: &str, url: &ResourceUrl) -> String {
    let path = to.strip_prefix(url.origin()).unwrap_or(to);
    if path.trim_end_matches('/') == url.path().trim_end_matches('/') {
        return format!(
            "the proxy adds or drops a `/`: clients do not follow a POST; let it serve {url} itself, or publish the other URL"
        );
    }
    if to.strip_prefix("https://").is_some_and(|rest| url.as_str().strip_prefix("http://") == Some(rest)) {
        return format!("publish the https URL, and set `.resource({to:?})`");
    }
    "a proxy sends clients elsewhere, to a login page perhaps: exempt this path, the server authorizes its callers itself"
        .to_owned()
}

fn document_of(challenge: &ReceivedChallenge, url: &ResourceUrl, report: &mut Report) {
    let check = Check::ChallengeDocument;
    let Some(document) = challenge.get("resource_metadata") else {
        return report.warn(
            check,
            "the challenge has no `resource_metadata`: clients of 2025-06-18 need it, others guess",
            format!("let the proxy pass the challenge on as it is; it should name {}", url.metadata_url()),
        );
    };
    let seen = format!("`resource_metadata` is {}", quote(document));
    let expected = format!("it should be {}", url.metadata_url());
    if document.trim_end_matches('/') == url.as_str().trim_end_matches('/') {
        report.fail(check, format!("{seen}: the resource itself, not the document about it"), expected);
    } else if url.as_str().starts_with("https://") && document.starts_with("http://") {
        let remedy = format!("TLS ends at a proxy: set `.resource(\"{url}\")`, the address that clients know");
        report.fail(check, format!("{seen}, which is not https"), remedy);
    } else if !document.contains("://") {
        report.fail(check, format!("{seen}, which is not a URL"), expected);
    } else if !document.starts_with(&format!("{}/", url.origin())) {
        let remedy = format!("{expected}: set `.resource(\"{url}\")`, the address that clients know");
        report.warn(check, format!("{seen}, at another host"), remedy);
    } else if !document.contains(WELL_KNOWN) {
        report.warn(check, format!("{seen}, which is not a well-known place"), expected);
    } else {
        report.ok(check, seen);
    }
}

fn scopes_of(challenge: &ReceivedChallenge, report: &mut Report) {
    match challenge.get("scope") {
        Some(scopes) if scopes.split(' ').any(|scope| scope == "offline_access") => report.warn(
            Check::ChallengeScope,
            format!("`scope` is {}, with `offline_access`", quote(scopes)),
            "leave `offline_access` out of `.scopes(…)`: clients ask for it by themselves, and a server has no use for it",
        ),
        Some(scopes) => report.ok(Check::ChallengeScope, format!("`scope` is {}", quote(scopes))),
        None => report.ok(Check::ChallengeScope, "no `scope`: every valid token may begin"),
    }
}

/// What the challenge says about a token.
fn error_of(reply: &Reply) -> Option<String> {
    reply.challenge().and_then(|challenge| challenge.get("error").map(str::to_owned))
}

/// A server of ours says `invalid_token`; others may not.
fn with_ignored_token(is_ours: bool, report: &mut Report) {
    let (check, remedy) = (Check::InvalidToken, "let the proxies before the server pass the header `Authorization` on");
    if is_ours {
        let seen = "the answer is the same as without a token: `Authorization` does not reach the server";
        return report.fail(check, seen, remedy);
    }
    let seen = "the answer is the same as without a token: `Authorization` does not reach the server, or the server does not \
                say `invalid_token`";
    report.warn(check, seen, remedy);
}

fn with_invalid_token(reply: &Reply, report: &mut Report) {
    let check = Check::InvalidToken;
    match (reply.status(), error_of(reply).as_deref()) {
        (401, Some("invalid_token")) => report.ok(check, "401 invalid_token"),
        (401, error) => report.warn(
            check,
            format!("401, with the error {}", quote(error.unwrap_or_default())),
            "it should be `invalid_token`, by which a client knows that its token is of no use; let the proxy pass the \
             challenge on",
        ),
        (200, _) => report.fail(
            check,
            "an invalid token is accepted",
            "check the function of `verify_with`: it must reject what it does not know",
        ),
        (503, _) => report.fail(
            check,
            "status 503 for an invalid token: tokens cannot be verified now",
            "the log of the server says why: the authorization server cannot be reached from there, or an error in `verify_with`",
        ),
        (status, _) => report.fail(
            check,
            format!("status {status} for an invalid token: clients do not get a new one"),
            "it has to be 401 with `error=\"invalid_token\"`; if it is not the server, a proxy checks tokens: let it pass them on",
        ),
    }
}

async fn token_in_url(visit: &Visit, url: &ResourceUrl, endpoint: &Endpoint, report: &mut Report) {
    let check = Check::TokenInUrl;
    if endpoint.challenge.is_none() {
        return report.skip(check, "there is no challenge");
    }
    match visit.post(&format!("{url}?access_token={INVALID}"), None).await {
        Ok(reply) if reply.status() == 200 && endpoint.is_open => {
            report.skip(check, "callers without a token are served");
        }
        Ok(reply) if reply.status() == 200 => report.fail(
            check,
            "a token in the URL opens the server",
            "accept tokens in the `Authorization` header only: URLs are logged",
        ),
        Ok(reply) => report.ok(check, format!("refused, with status {}", reply.status())),
        Err(why) => report.warn(check, format!("no answer: {why}"), unreachable(&why)),
    }
}

/// Sends a token that names the issuer, but that nobody has signed: the server has to look for its key.
pub(super) async fn forged_token(
    visit: &Visit,
    url: &ResourceUrl,
    (endpoint, issuer): (&Endpoint, &str),
    report: &mut Report,
) {
    let check = Check::ForgedToken;
    if endpoint.ignores_tokens {
        return report.skip(check, "tokens may not reach the server");
    }
    let claims = json!({
        "iss": issuer, "aud": url.as_str(), "sub": "mcp-doctor", "client_id": "mcp-doctor",
        "iat": clock::now(), "exp": clock::now() + 60,
    });
    let header = json!({"alg": "RS256", "typ": "at+jwt", "kid": "mcp-doctor"});
    let encode = |value: &serde_json::Value| base64url::encode(value.to_string().as_bytes());
    let token = format!("{}.{}.{}", encode(&header), encode(&claims), base64url::encode(&[0; 256]));
    match visit.post(url.as_str(), Some(&token)).await {
        Ok(reply) => match reply.status() {
            401 => report.ok(check, "refused: the server can verify tokens"),
            200 => report.fail(
                check,
                "a token that nobody has signed is accepted",
                "verify signatures, with `Auth::jwt` for example",
            ),
            503 => report.fail(
                check,
                "status 503: the server cannot verify tokens now",
                "the log of the server says why: the issuer names itself otherwise (mostly a `/` at the end), has no keys, or \
                 cannot be reached from there",
            ),
            status => report.warn(
                check,
                format!("status {status} for a token that nobody has signed"),
                "it should be 401; the log of the server says why",
            ),
        },
        Err(why) => report.warn(check, format!("no answer: {why}"), unreachable(&why)),
    }
}

/// Sends a token that was given, which should be accepted. Returns whether it was.
pub(super) async fn given_token(visit: &Visit, url: &ResourceUrl, token: &str, report: &mut Report) -> bool {
    let check = Check::Token;
    let reply = match visit.post(url.as_str(), Some(token)).await {
        Ok(reply) => reply,
        Err(why) => {
            report.fail(check, format!("no answer: {why}"), unreachable(&why));
            return false;
        }
    };
    let challenge = reply.challenge().unwrap_or_default();
    let described = challenge.get("error_description").unwrap_or("no reason is given");
    match reply.status() {
        200 if !reply.is_html() => {
            report.ok(check, "accepted");
            return true;
        }
        401 => report.fail(check, format!("401: {}", quote(described)), rejected(described)),
        403 if challenge.get("error") == Some("insufficient_scope") => report.fail(
            check,
            format!("403: the token lacks scopes; {}", quote(described)),
            format!("ask for a token with the scopes {}", quote(challenge.get("scope").unwrap_or_default())),
        ),
        _ => {
            let (seen, remedy) = explain(&reply, url);
            report.fail(check, seen, remedy);
        }
    }
    false
}

/// What to do about a token that is rejected, by the words of the server.
fn rejected(described: &str) -> &'static str {
    for (words, remedy) in [
        ("another issuer", "`Auth::jwt` has to be the `iss` of the tokens, byte for byte"),
        (
            "another resource",
            "the client did not ask for this `resource`, or the issuer names it otherwise: let it put the URL into `aud`, or \
             add `.audience(…)`",
        ),
        ("not a signed JWT", "the issuer hands out opaque tokens: use `Auth::introspect`"),
        ("expired", "get a new token; if it is new, compare the clocks"),
    ] {
        if described.contains(words) {
            return remedy;
        }
    }
    "get a token from an authorization server of the document, with the URL as its `resource`"
}

#[cfg(test)]
mod tests {
    use super::super::report::{Finding, Status};
    use super::super::www_authenticate::parse;
    use super::*;

    fn told(check: impl FnOnce(&mut Report)) -> Finding {
        let mut report = Report::default();
        check(&mut report);
        report.findings.pop().unwrap()
    }

    #[test]
    fn challenge_behind_a_proxy_that_ends_tls_names_an_http_document() {
        let url = ResourceUrl::parse("https://h.example/mcp").unwrap();
        for (document, status, words) in [
            ("https://h.example/.well-known/oauth-protected-resource/mcp", Status::Ok, ""),
            ("http://h.example/.well-known/oauth-protected-resource/mcp", Status::Failure, "which is not https"),
            ("http://10.0.0.1:8080/.well-known/oauth-protected-resource/mcp", Status::Failure, "which is not https"),
            ("https://h.example/mcp/", Status::Failure, "the resource itself"),
            ("https://h.example.evil/.well-known/oauth-protected-resource/mcp", Status::Warning, "at another host"),
            ("https://h.example/document", Status::Warning, "not a well-known place"),
        ] {
            let challenge = parse(&format!("Bearer resource_metadata=\"{document}\"")).pop().unwrap();
            let finding = told(|report| document_of(&challenge, &url, report));
            assert_eq!(finding.status, status, "{document}: {finding:?}");
            assert!(finding.seen.contains(words), "{document}: {finding:?}");
        }
    }

    #[test]
    fn redirects_say_what_the_proxy_does() {
        let url = ResourceUrl::parse("http://localhost/mcp").unwrap();
        for (to, words) in [
            ("http://localhost/mcp/", "adds or drops a `/`"),
            ("https://localhost/mcp", "publish the https URL"),
            ("https://sso.example/login", "login page"),
            ("", "elsewhere"),
        ] {
            assert!(redirect(to, &url).contains(words), "{to}: {}", redirect(to, &url));
        }
    }
}
