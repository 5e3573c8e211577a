//! The peer of a request: the other end of its connection, or what a trusted proxy says.

use std::net::IpAddr;

use mcp_runtime::http::{Forwarded, HttpService, Peer};
use mcp_runtime::prelude::*;
use mcp_tests::http::{Ask, Site, call};
use serde_json::json;

/// Who calls.
#[tool]
fn whoami(ctx: &Context) -> String {
    format!("{:?} {:?}", ctx.peer(), ctx.principal())
}

/// How the caller has addressed the proxy.
#[tool]
fn address(ctx: &Context) -> String {
    let forwarded = ctx.http().and_then(|parts| parts.extensions.get::<Forwarded>());
    forwarded.map_or_else(|| "direct".to_owned(), |said| format!("{:?} {:?}", said.proto(), said.host()))
}

fn service() -> HttpService {
    let service = Server::new("peers", "1.0.0").tools(tools![whoami, address]).into_service();
    service.principal(|parts| parts.extensions.get::<Peer>().map(|peer| peer.ip().to_string()))
}

async fn said(site: &Site, forwarded: Option<&str>) -> String {
    let ask = call("whoami", &json!({}));
    let ask = match forwarded {
        Some(list) => ask.with("X-Forwarded-For", list),
        None => ask,
    };
    site.ask(&ask).await.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn expected(address: &str) -> String {
    let ip: IpAddr = address.parse().unwrap();
    format!("{:?} {:?}", Some(ip), Some(address))
}

#[tokio::test]
async fn peer_is_the_other_end_of_the_connection() {
    let site = Site::serving(service()).await;
    assert_eq!(said(&site, None).await, expected("127.0.0.1"));
    assert_eq!(said(&site, Some("192.0.2.7")).await, expected("127.0.0.1"), "a stranger's word");
}

#[tokio::test]
async fn trusted_proxy_names_the_peer() {
    let site = Site::serving(service().trust_proxies(["127.0.0.0/8"])).await;
    assert_eq!(said(&site, None).await, expected("127.0.0.1"));
    assert_eq!(said(&site, Some("203.0.113.1, 192.0.2.7, 127.0.0.9")).await, expected("192.0.2.7"));
}

#[test]
#[should_panic(expected = "a trusted proxy is an address, a network or `unix`")]
fn proxies_by_name_are_a_mistake() {
    service().trust_proxies(["proxy.example.com"]);
}

#[test]
#[should_panic(expected = "call `trust_proxies` or `trust_forwarded`, not both")]
fn one_dialect_is_read() {
    service().trust_proxies(["10.0.0.1"]).trust_forwarded(["10.0.0.2"]);
}

#[test]
#[should_panic(expected = "call `trust_proxies` or `trust_forwarded`, not both")]
fn one_dialect_is_read_in_either_order() {
    service().trust_forwarded(["10.0.0.2"]).trust_proxies(["10.0.0.1"]);
}

#[test]
fn list_of_proxies_replaces_the_last_one() {
    service().trust_proxies(["10.0.0.1"]).trust_proxies(["10.0.0.2"]);
    service().trust_proxies([""; 0]).trust_forwarded(["10.0.0.2"]);
}

/// A call of `address` with these headers: what it says, or the status.
async fn addressed(site: &Site, headers: &[(&str, &str)]) -> Result<String, u16> {
    let ask = call("address", &json!({}));
    let ask = headers.iter().fold(ask, |ask: Ask, (name, value)| match *name {
        "Host" => ask.but(name, value),
        _ => ask.with(name, value),
    });
    let response = site.ask(&ask).await;
    if response.status != 200 {
        return Err(response.status);
    }
    Ok(response.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn forwarded_host_is_checked_in_place_of_the_proxys() {
    let service = || service().allow_hosts(["mcp.example.com"]);
    let site = Site::serving(service().trust_proxies(["127.0.0.1"])).await;
    let (host, proto) = ("X-Forwarded-Host", "X-Forwarded-Proto");
    let public = addressed(&site, &[("Host", "upstream"), (host, "mcp.example.com"), (proto, "https")]).await;
    assert_eq!(public.unwrap(), r#"Some("https") Some("mcp.example.com")"#);
    assert_eq!(addressed(&site, &[("Host", "mcp.example.com"), (host, "evil.example")]).await, Err(403));
    assert_eq!(addressed(&site, &[("Host", "upstream"), (host, "mcp.example.com, evil.example")]).await, Err(403));
    assert_eq!(addressed(&site, &[("Host", "upstream")]).await, Err(403));
    assert_eq!(addressed(&site, &[("Host", "mcp.example.com")]).await.unwrap(), "None None");
    let hostile = [("Host", "mcp.example.com"), (host, "\"evil\""), (proto, "javascript")];
    assert_eq!(addressed(&site, &hostile).await.unwrap(), "None None", "as if it had said nothing");

    let stranger = Site::serving(service().trust_proxies(["10.0.0.0/8"])).await;
    assert_eq!(addressed(&stranger, &[("Host", "upstream"), (host, "mcp.example.com")]).await, Err(403));
    let direct = addressed(&stranger, &[("Host", "mcp.example.com"), (host, "evil.example"), (proto, "https")]).await;
    assert_eq!(direct.unwrap(), "direct");
    let nobody = Site::serving(service()).await;
    assert_eq!(addressed(&nobody, &[("Host", "upstream"), (host, "mcp.example.com")]).await, Err(403));
}

/// A proxy passes on what it does not write: only one of the dialects is the proxy's.
#[tokio::test]
async fn forwarded_is_read_from_those_who_write_it() {
    let standard = [("Forwarded", r#"for=1.1.1.1;host=evil, for="192.0.2.7:4711";host=mcp.example.com;proto=https"#)];
    let common = [("X-Forwarded-For", "192.0.2.9"), ("X-Forwarded-Host", "localhost")];
    let both = [standard[0], common[0], common[1], ("Host", "upstream")];
    let said = async |site: &Site| {
        let ask =
            standard.iter().chain(&common).fold(call("whoami", &json!({})), |ask, (name, value)| ask.with(name, value));
        site.ask(&ask).await.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let service = || service().allow_hosts(["mcp.example.com", "localhost"]);
    let site = Site::serving(service().trust_forwarded(["127.0.0.1"])).await;
    assert_eq!(said(&site).await, expected("192.0.2.7"));
    assert_eq!(addressed(&site, &both).await.unwrap(), r#"Some("https") Some("mcp.example.com")"#);
    let site = Site::serving(service().trust_proxies(["127.0.0.1"])).await;
    assert_eq!(said(&site).await, expected("192.0.2.9"));
    assert_eq!(addressed(&site, &both).await.unwrap(), r#"None Some("localhost")"#);
    let site = Site::serving(service()).await;
    assert_eq!(said(&site).await, expected("127.0.0.1"));
}
