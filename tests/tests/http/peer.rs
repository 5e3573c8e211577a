//! The peer of a request: the other end of its connection, or what a trusted proxy says.

use std::net::IpAddr;

use mcp_runtime::http::{HttpService, Peer};
use mcp_runtime::prelude::*;
use mcp_tests::http::{Site, call};
use serde_json::json;

/// Who calls.
#[tool]
fn whoami(ctx: &Context) -> String {
    format!("{:?} {:?}", ctx.peer(), ctx.principal())
}

fn service() -> HttpService {
    let service = Server::new("peers", "1.0.0").tools(tools![whoami]).into_service();
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
#[should_panic(expected = "a trusted proxy is an address or a network")]
fn proxies_by_name_are_a_mistake() {
    service().trust_proxies(["proxy.example.com"]);
}
