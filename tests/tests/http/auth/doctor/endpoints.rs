//! What the endpoint answers: without a token, with an invalid one, with one in the URL, with a good one.

use mcp_runtime::auth::doctor::{Check, Doctor, Status};
use mcp_runtime::auth::{Auth, Rejection, Secret, User};
use serde_json::json;

use super::proxy::{Answer, Asked, Deployment, found};

/// How a response is spoilt, and what is said about it.
type Row = (fn(&mut Answer), &'static str, &'static str);

/// Examines deployments whose answers to some requests are spoilt.
async fn spoilt(which: fn(&Asked) -> bool, check: Check, status: Status, rows: &[Row]) {
    for (spoil, words, remedy) in rows {
        let spoil = *spoil;
        let deployment = Deployment::with(move |asked, answer| {
            if which(asked) {
                spoil(answer);
            }
        })
        .await;
        found(&deployment.examine().await, check, status, words, remedy);
    }
}

#[tokio::test]
async fn answers_to_requests_without_a_token_say_who_is_in_the_way() {
    let rows: &[Row] = &[
        (|answer| answer.remove("www-authenticate"), "401 without `WWW-Authenticate`", "Couldn't reach the MCP server"),
        (
            |answer| answer.set("WWW-Authenticate", "Basic realm=\"staff\""),
            "another kind, \"Basic\"",
            "exempt this path",
        ),
        (
            |answer| answer.become_page(404),
            "status 404, with an HTML page, instead of 401",
            "no server is at this path",
        ),
        (|answer| answer.become_page(405), "status 405", "POST does not reach the server"),
        (|answer| answer.become_page(403), "status 403", "firewall or proxy"),
        (|answer| answer.become_page(502), "status 502", "the proxy's upstream"),
        (|answer| answer.become_page(500), "status 500", "the log of the server"),
        (|answer| answer.become_page(418), "status 418", "a proxy or a web site"),
        (
            |answer| {
                answer.status = 308;
                answer.set("Location", "/mcp/");
            },
            "status 308, a redirect to \"/mcp/\"",
            "adds or drops a `/`",
        ),
        (
            |answer| {
                answer.status = 302;
                answer.set("Location", "https://sso.example/login");
            },
            "a redirect to \"https://sso.example/login\"",
            "to a login page perhaps",
        ),
    ];
    spoilt(Asked::is_anonymous, Check::Challenge, Status::Failure, rows).await;
    let all: &[Row] = &[
        (|answer| answer.become_page(200), "with an HTML page", "route this path to the server"),
        (|answer| answer.status = 200, "everybody is served", "HttpService::authorize"),
    ];
    spoilt(|asked| asked.method == "POST", Check::Challenge, Status::Failure, all).await;
}

#[tokio::test]
async fn proxy_that_sends_another_host_is_told() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url);
    let deployment = Deployment::of(auth, Some("notes.internal:8080"), |_, _| {}).await;
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::Challenge, Status::Failure, "host `notes.internal:8080` is not allowed", "`allow_hosts`");
}

#[tokio::test]
async fn challenges_have_to_name_the_document() {
    let rows: &[Row] = &[
        (
            |answer| {
                let challenge = answer.headers.iter_mut().find(|(name, _)| name == "www-authenticate").unwrap();
                challenge.1 = challenge.1.replace("/.well-known/oauth-protected-resource", "");
            },
            "the resource itself, not the document",
            "/.well-known/oauth-protected-resource/mcp",
        ),
        (
            |answer| answer.set("www-authenticate", "Bearer resource_metadata=\"/x\""),
            "not a URL",
            "it should be http://",
        ),
    ];
    spoilt(Asked::is_anonymous, Check::ChallengeDocument, Status::Failure, rows).await;
    let rows: &[Row] = &[
        (|answer| answer.set("www-authenticate", "Bearer"), "no `resource_metadata`", "it should name http://"),
        (
            |answer| answer.set("www-authenticate", "Bearer resource_metadata=\"http://127.0.0.1:1/x\""),
            "at another host",
            "set `.resource(",
        ),
    ];
    spoilt(Asked::is_anonymous, Check::ChallengeDocument, Status::Warning, rows).await;
}

#[tokio::test]
async fn scope_for_refresh_tokens_is_not_the_servers() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url).scopes(["notes:read", "offline_access"]);
    let diagnosis = Deployment::of(auth, None, |_, _| {}).await.examine().await;
    found(&diagnosis, Check::ChallengeScope, Status::Warning, "offline_access", "leave `offline_access` out");
    found(&diagnosis, Check::DocumentScopes, Status::Warning, "offline_access", "leave `offline_access` out");
    assert!(diagnosis.is_healthy(), "{diagnosis}");
}

#[tokio::test]
async fn invalid_tokens_have_to_be_401() {
    let rows: &[Row] = &[
        (|answer| answer.status = 200, "an invalid token is accepted", "verify_with"),
        (|answer| answer.status = 500, "status 500 for an invalid token", "it has to be 401"),
        (|answer| answer.status = 403, "status 403 for an invalid token", "it has to be 401"),
        (|answer| answer.status = 503, "tokens cannot be verified now", "the log of the server"),
    ];
    spoilt(|asked| asked.has_token, Check::InvalidToken, Status::Failure, rows).await;
    let rows: &[Row] = &[(
        |answer| answer.set("www-authenticate", "Bearer"),
        "401, with the error \"\"",
        "it should be `invalid_token`",
    )];
    spoilt(|asked| asked.has_token, Check::InvalidToken, Status::Warning, rows).await;
}

/// A proxy that drops `Authorization` makes every request one without a token.
#[tokio::test]
async fn token_that_makes_no_difference_does_not_arrive() {
    let spoil = |asked: &Asked, answer: &mut Answer| {
        if let Some((_, challenge)) = answer.headers.iter_mut().find(|(name, _)| name == "www-authenticate")
            && asked.has_token
        {
            let parameters = challenge.trim_start_matches("Bearer ").split(", ").filter(|one| !one.contains("error"));
            *challenge = format!("Bearer {}", parameters.collect::<Vec<_>>().join(", "));
        }
    };
    let deployment = Deployment::with(spoil).await;
    let auth = Auth::jwt(&deployment.issuer.url).resource(&deployment.url).scopes(["notes:read"]);
    let (seen, remedy) = ("`Authorization` does not reach the server", "pass the header `Authorization` on");
    let diagnosis = auth.doctor().await;
    found(&diagnosis, Check::InvalidToken, Status::Failure, seen, remedy);
    found(&diagnosis, Check::ForgedToken, Status::Skipped, "tokens may not reach", "");
    // Another server may not say what is wrong with a token.
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::InvalidToken, Status::Warning, seen, remedy);
}

#[tokio::test]
async fn token_in_the_url_must_not_open_the_server() {
    let rows: &[Row] = &[(|answer| answer.status = 200, "a token in the URL opens the server", "URLs are logged")];
    spoilt(|asked| asked.path.contains("access_token"), Check::TokenInUrl, Status::Failure, rows).await;
}

#[tokio::test]
async fn clock_of_the_server_is_compared() {
    let rows: &[Row] = &[(
        |answer| answer.set("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        "s behind this one",
        "synchronize the clocks",
    )];
    spoilt(Asked::is_anonymous, Check::Clock, Status::Warning, rows).await;
}

#[tokio::test]
async fn optional_authorization_is_told_from_none() {
    let auth = |issuer: &str, url: &str| Auth::jwt(issuer).resource(url).optional();
    let deployment = Deployment::of(auth, None, |_, _| {}).await;
    let diagnosis = deployment.examine().await;
    found(&diagnosis, Check::Challenge, Status::Warning, "authorization is optional", "leave `.optional()` out");
    found(&diagnosis, Check::InvalidToken, Status::Ok, "401 invalid_token", "");
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let diagnosis = auth(&deployment.issuer.url, &deployment.url).doctor().await;
    found(&diagnosis, Check::Challenge, Status::Ok, "as `Auth::optional` says", "");
}

#[tokio::test]
async fn verifier_that_accepts_everything_is_told() {
    let auth = |issuer: &str, url: &str| {
        let anybody = |_| async { Ok::<_, Rejection>(User::new("anybody").with_scopes(["notes:read"])) };
        Auth::verify_with(anybody).resource(url).authorization_servers([issuer])
    };
    let diagnosis = Deployment::of(auth, None, |_, _| {}).await.examine().await;
    found(&diagnosis, Check::InvalidToken, Status::Failure, "an invalid token is accepted", "it must reject");
    found(&diagnosis, Check::ForgedToken, Status::Failure, "nobody has signed is accepted", "verify signatures");
}

#[tokio::test]
async fn token_that_is_refused_says_what_it_lacks() {
    let deployment = Deployment::healthy().await;
    let (issuer, url) = (&deployment.issuer, &deployment.url);
    for (token, words, remedy) in [
        (issuer.access_token(url, "alice", "other"), "the token lacks scopes", "with the scopes \"notes:read\""),
        (issuer.access_token("https://other.example", "alice", "notes:read"), "another resource", ".audience("),
        (
            issuer.sign(&json!({"aud": url, "sub": "alice", "iss": "https://other.example"})),
            "another issuer",
            "Auth::jwt",
        ),
        (issuer.sign(&json!({"aud": url, "sub": "alice", "exp": 1})), "expired", "compare the clocks"),
        ("opaque".to_owned(), "not a signed JWT", "Auth::introspect"),
    ] {
        let diagnosis = Doctor::new(url).token(token.clone()).examine().await;
        found(&diagnosis, Check::Token, Status::Failure, words, remedy);
        assert!(!diagnosis.to_string().contains(&token), "{diagnosis}");
    }
    let unset = Doctor::new(url).token(Secret::env("MCP_DOCTOR_TEST_NO_SUCH_VARIABLE")).examine().await;
    found(&unset, Check::Token, Status::Failure, "MCP_DOCTOR_TEST_NO_SUCH_VARIABLE", "a token of this server");
}

/// A server may repeat what it was sent.
#[tokio::test]
async fn token_is_never_printed() {
    const TOKEN: &str = "s3cret-token-of-alice";
    let deployment = Deployment::with(|asked, answer| {
        if asked.has_token {
            answer.set("www-authenticate", &format!("Bearer error_description=\"bad: {TOKEN}\""));
        }
    })
    .await;
    let doctor = Doctor::new(&deployment.url).token(TOKEN);
    assert!(!format!("{doctor:?}").contains(TOKEN));
    let diagnosis = doctor.examine().await;
    found(&diagnosis, Check::Token, Status::Failure, "bad: (the token)", "");
    assert!(!format!("{diagnosis:?}{diagnosis}").contains(TOKEN));
}
