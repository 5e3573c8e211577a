//! `doctor`: what is wrong with the authorization of a live server, for a person and for a script.

use mcp_runtime::Server;
use mcp_runtime::auth::Auth;
use mcp_tests::fake_issuer::FakeIssuer;
use mcp_tests::http::Site;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::commands::{Done, finish, server};

/// A server that listens, its URL, and where its tokens come from.
struct Deployment {
    url: String,
    issuer: FakeIssuer,
    _site: Site,
}

impl Deployment {
    async fn of(auth: impl FnOnce(&str, &str) -> Auth) -> Self {
        let issuer = FakeIssuer::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}/mcp");
        let service = Server::new("notes", "1.0.0").into_service().authorize(auth(&issuer.url, &url));
        let handle = service.handle();
        let serving = tokio::spawn(service.serve_on(listener));
        Deployment { url, issuer, _site: Site { address, handle, serving } }
    }

    async fn healthy() -> Self {
        Self::of(|issuer, url| Auth::jwt(issuer).resource(url).scopes(["notes:read"])).await
    }
}

/// Runs a command beside the servers of this process.
async fn run(line: String, environment: &[(&str, &str)]) -> Done {
    let mut command = server();
    command.args(line.split(' ').filter(|word| !word.is_empty())).envs(environment.iter().copied());
    tokio::task::spawn_blocking(move || finish(&mut command, "")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn healthy_server_is_a_table_and_exit_code_0() {
    let deployment = Deployment::healthy().await;
    let url = &deployment.url;
    let token = deployment.issuer.access_token(url, "alice", "notes:read");
    let Done { out, err, code } = run(format!("doctor {url} --token-env TOKEN"), &[("TOKEN", &token)]).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with(&format!("{url}\n\nok       url                  {url}\n")), "{out}");
    assert!(out.contains("ok       token                accepted\n"), "{out}");
    assert!(out.contains("\nwarning  issuer-registration  clients cannot register at"), "{out}");
    assert!(out.ends_with("\nclients can connect, but see the warnings: 1\n"), "{out}");
    assert!(!out.contains(&token));
    assert!(out.lines().all(|line| line.chars().count() <= 120), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn problems_are_exit_code_1_and_say_what_to_do() {
    let deployment = Deployment::healthy().await;
    let Done { out, code, .. } = run(format!("doctor {}/", deployment.url), &[]).await;
    assert_eq!(code, 1, "{out}");
    let expected = "\nfailure  document-resource    `resource` is";
    assert!(out.contains(expected) && out.contains("\n                              → type http"), "{out}");
    assert!(out.contains("\nfailures: 2, warnings: 2\n"), "{out}");
    let Done { out, code, .. } = run("doctor http://127.0.0.1:1/mcp".to_owned(), &[]).await;
    assert!(code == 1 && out.contains("→ nothing listens there"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_are_json_for_scripts() {
    let deployment = Deployment::healthy().await;
    let url = &deployment.url;
    let Done { out, code, .. } = run(format!("doctor --json {url}"), &[]).await;
    let all: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &all["resource"], &all["healthy"]), (0, &json!(url), &json!(true)), "{out}");
    assert_eq!(all["findings"][0], json!({"check": "url", "status": "ok", "seen": url, "remedy": null}));
    let Done { out, code, .. } = run("doctor --json mcp.example.com/mcp".to_owned(), &[]).await;
    let all: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &all["healthy"]), (1, &json!(false)), "{out}");
    assert_eq!(all["findings"][0]["status"], "failure");
    assert!(all["findings"][0]["remedy"].as_str().unwrap().contains("the URL that people type"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_with_authorization_knows_its_url() {
    let auth = |_: &str, url: &str| Auth::bearer([("ci", "token-of-the-ci-server")]).resource(url);
    let deployment = Deployment::of(auth).await;
    let url = &deployment.url;
    // Its configuration says that tokens are given, whether the URL is typed or not; another URL is nobody's.
    for line in ["doctor".to_owned(), format!("doctor {url}")] {
        let Done { out, code, .. } = run(line, &[("RESOURCE", url)]).await;
        assert!(code == 0 && out.starts_with(url), "{out}");
        assert!(out.contains("warning  document-issuers"), "{out}");
    }
    let Done { out, code, .. } = run(format!("doctor {url}"), &[("RESOURCE", "https://mcp.example.com/mcp")]).await;
    assert!(code == 1 && out.contains("failure  document-issuers"), "{out}");
}

#[tokio::test]
async fn wrong_command_lines_are_exit_code_2() {
    let pem = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor-empty.pem");
    std::fs::write(&pem, "nothing").unwrap();
    for (line, hint) in [
        ("doctor", "write `doctor URL`"),
        ("doctor https://a https://b", "unexpected argument `https://b`"),
        ("doctor https://a --token secret", "--token"),
        ("doctor https://a --token-env NO_SUCH_VARIABLE", "the environment variable `NO_SUCH_VARIABLE` has no token"),
        ("doctor https://a --ca-file /does/not/exist", "/does/not/exist"),
        (&format!("doctor https://a --ca-file {}", pem.display()), "BEGIN CERTIFICATE"),
        ("docto https://a", "did you mean `doctor`?"),
    ] {
        let Done { out, err, code } = run(line.to_owned(), &[]).await;
        assert_eq!(code, 2, "{line}: {out}{err}");
        assert!(err.contains(hint) && out.is_empty(), "{line}: {err}");
    }
    let Done { out, code, .. } = run("doctor --help".to_owned(), &[]).await;
    assert!(code == 0 && out.contains("  doctor [URL]  "), "{out}");
}
