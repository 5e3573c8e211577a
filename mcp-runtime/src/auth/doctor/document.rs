//! The document about the resource (RFC 9728): where clients look for it, and what it says.

use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::report::{Check, Report, Status};
use super::visit::{self, Reply, Visit, quote, unreachable};
use crate::auth::resource::{ResourceUrl, WELL_KNOWN};

/// A document, as far as clients read it.
#[derive(Debug, Default)]
pub(super) struct Document {
    url: String,
    resource: Option<String>,
    pub(super) issuers: Vec<String>,
    pub(super) scopes: Vec<String>,
}

/// A place where clients look, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where the challenge says.
    Challenge,
    /// The well-known place with the path of the resource.
    Path,
    /// Without it.
    Root,
}

/// Why a place has no document, and what to do.
struct Absent {
    status: Option<u16>,
    seen: String,
    remedy: String,
}

/// Looks for the document at each place, and reads the one that clients find first.
pub(super) async fn examine(
    visit: &Visit,
    url: &ResourceUrl,
    named: Option<&str>,
    report: &mut Report,
) -> Option<Document> {
    let mut places: Vec<(Place, String)> = Vec::new();
    let known = [
        (Place::Challenge, named.filter(|at| visit::may_name(url, at)).map(str::to_owned)),
        (Place::Path, Some(url.metadata_url())),
        (Place::Root, Some(format!("{}{WELL_KNOWN}", url.origin()))),
    ];
    for (place, at) in known.into_iter().filter_map(|(place, at)| Some((place, at?))) {
        if !places.iter().any(|(_, known)| *known == at) {
            places.push((place, at));
        }
    }
    let mut found = Vec::new();
    for (place, at) in places {
        found.push((place, read(visit, &at).await, at));
    }
    let documents = || found.iter().filter_map(|(place, read, _)| Some((*place, read.as_ref().ok()?)));
    let is_found = documents().next().is_some();
    for (place, read, at) in &found {
        match read {
            Ok(_) => report.ok(Check::Document, at.as_str()),
            Err(absent) => absent.tell(*place, at, is_found, report),
        }
    }
    let (_, first) = documents().next()?;
    resource(url, first, report);
    let others = documents().skip(1).filter(|(place, other)| *place == Place::Path && other.resource != first.resource);
    others.for_each(|(_, other)| resource(url, other, report));
    sharing(visit, first, report).await;
    scopes(first, report);
    found.into_iter().find_map(|(_, read, _)| read.ok())
}

async fn read(visit: &Visit, at: &str) -> Result<Document, Absent> {
    match visit.get(at).await {
        Ok(reply) => Document::read(&reply, at),
        Err(why) => {
            Err(Absent { status: None, seen: format!("no answer: {why}"), remedy: unreachable(&why).to_owned() })
        }
    }
}

impl Document {
    fn read(reply: &Reply, url: &str) -> Result<Self, Absent> {
        let absent =
            |seen: String, remedy: &str| Err(Absent { status: Some(reply.status()), seen, remedy: remedy.to_owned() });
        let kind = reply.header(CONTENT_TYPE).unwrap_or_default();
        match reply.status() {
            200 => {}
            404 => {
                return absent(
                    reply.summary(),
                    "a proxy or router does not pass `/.well-known/` on: route it to the server (in axum with `route_service`); \
                     the log says if a client asks for the document of another resource",
                );
            }
            401 | 403 => {
                return absent(reply.summary(), "everybody has to be able to read it: exempt it from authentication");
            }
            300..=399 => return absent(reply.summary(), "serve it at this place: not every client follows a redirect"),
            _ => return absent(reply.summary(), "the log of the server, or of a proxy before it, says why"),
        }
        if reply.is_html() {
            return absent(reply.summary(), "a web site answers for `/.well-known/`: route it to the server");
        }
        let Some(body) = reply.json() else {
            let seen = if reply.is_too_long() { "it is longer than 64 KiB" } else { "it is not a JSON object" };
            return absent(seen.to_owned(), "route `/.well-known/` to the server, which writes it");
        };
        if !kind.starts_with("application/json") {
            let seen = format!("its content type is {}, not application/json", quote(kind));
            return absent(seen, "let the proxy pass `Content-Type` on");
        }
        Ok(Document {
            url: url.to_owned(),
            resource: body["resource"].as_str().map(str::to_owned),
            issuers: texts(&body["authorization_servers"]),
            scopes: texts(&body["scopes_supported"]),
        })
    }
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

impl Absent {
    fn tell(&self, place: Place, at: &str, is_found: bool, report: &mut Report) {
        let seen = format!("{at}: {}", self.seen);
        let status = match place {
            Place::Root if is_found && self.status == Some(404) => {
                return report.ok(Check::Document, format!("{seen}, but clients find it elsewhere before"));
            }
            Place::Path | Place::Root if is_found => Status::Warning,
            _ => Status::Failure,
        };
        report.add(Check::Document, status, seen, Some(self.remedy.clone()));
    }
}

/// The most reported failure: the document is about another URL than the one that was typed.
fn resource(url: &ResourceUrl, document: &Document, report: &mut Report) {
    let check = Check::DocumentResource;
    let set = format!("set `.resource(\"{url}\")` if that is what people type into their client");
    let Some(named) = &document.resource else {
        return report.fail(check, format!("{} has no `resource`", document.url), set);
    };
    let Some(why) = difference(url, named) else {
        return report.ok(check, format!("`resource` is {url}, byte for byte"));
    };
    let seen = format!("`resource` is {}: {why}", quote(named));
    if url.as_str().strip_suffix('/') == Some(named) {
        return report.fail(check, seen, format!("type {named}, without the `/`"));
    }
    let is_origin = named.trim_end_matches('/') == url.origin();
    let status = if is_origin { Status::Warning } else { Status::Failure };
    report.add(check, status, seen, Some(format!("{set}; else give people the other URL")));
}

/// How another resource differs from the URL.
fn difference(url: &ResourceUrl, named: &str) -> Option<&'static str> {
    let (typed, without_scheme) = (url.as_str(), |text: &str| text.split_once("://").map(|(_, rest)| rest.to_owned()));
    Some(if typed == named {
        return None;
    } else if typed.trim_end_matches('/') == named.trim_end_matches('/') {
        "it differs by the `/` at the end, and clients compare byte for byte (VS Code: the resource does not match)"
    } else if named.trim_end_matches('/') == url.origin() {
        "it is the origin alone, without the path: some clients refuse it, and tokens are for every server of the origin"
    } else if typed.eq_ignore_ascii_case(named) {
        "it differs in upper and lower case, and clients compare byte for byte"
    } else if without_scheme(typed) == without_scheme(named) {
        "it has another scheme: TLS ends at a proxy, and the server was given the address behind it"
    } else if named.strip_prefix(url.origin()).is_some_and(|path| path.starts_with('/')) {
        "it has another path, so clients refuse it"
    } else {
        "it is at another host, so clients refuse it"
    })
}

async fn sharing(visit: &Visit, document: &Document, report: &mut Report) {
    let (check, at) = (Check::DocumentCors, &document.url);
    let remedy = "send `Access-Control-Allow-Origin: *`, also for OPTIONS, with `Access-Control-Allow-Headers: *`: the server \
                  does, so let the proxy pass it on";
    if !visit.get_from_page(at).await.is_ok_and(|reply| reply.is_shared()) {
        let seen = format!("{at} has no `Access-Control-Allow-Origin` for others: clients in browsers cannot read it");
        return report.warn(check, seen, remedy);
    }
    let preflight = visit.preflight(at).await;
    let allows = |reply: &Reply| {
        let headers = reply.header("access-control-allow-headers").unwrap_or_default().to_ascii_lowercase();
        let is_named = headers.split(',').any(|name| matches!(name.trim(), "*" | "mcp-protocol-version"));
        reply.0.status().is_success() && reply.is_shared() && is_named
    };
    match preflight {
        Ok(reply) if allows(&reply) => report.ok(check, "clients in browsers can read it"),
        Ok(reply) => {
            let seen = format!(
                "a preflight (OPTIONS) of {at} is refused, {}: clients in browsers cannot read it",
                reply.summary()
            );
            report.warn(check, seen, remedy);
        }
        Err(why) => report.warn(check, format!("a preflight (OPTIONS) of {at} gets no answer: {why}"), remedy),
    }
}

fn scopes(document: &Document, report: &mut Report) {
    let scopes = document.scopes.join(" ");
    if document.scopes.iter().any(|scope| scope == "offline_access") {
        return report.warn(
            Check::DocumentScopes,
            format!("`scopes_supported` is {}, with `offline_access`", quote(&scopes)),
            "leave `offline_access` out: clients ask for it by themselves, and a server has no use for it",
        );
    }
    report.ok(Check::DocumentScopes, format!("`scopes_supported` is {}", quote(&scopes)));
}

/// Whether there is an authorization server. `has_tokens`: some callers have a token without one.
pub(super) fn issuers(document: &Document, has_tokens: bool, report: &mut Report) {
    let check = Check::DocumentIssuers;
    match (document.issuers.is_empty(), has_tokens) {
        (false, _) => report.ok(check, format!("`authorization_servers` is {}", quote(&document.issuers.join(" ")))),
        (true, true) => report.warn(
            check,
            "`authorization_servers` is empty: only callers whom you have given a token can connect",
            "name those that issue tokens for this server, with `Auth::jwt` or `.authorization_servers([…])`, if there are any",
        ),
        (true, false) => report.fail(
            check,
            "`authorization_servers` is empty: clients do not know where to get a token",
            "use `Auth::jwt`, or name the servers with `.authorization_servers([…])`; with `Auth::bearer`, show that a token is \
             accepted (`--token-env NAME`)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_has_its_own_words() {
        let url = ResourceUrl::parse("https://h.example/a/mcp").unwrap();
        assert_eq!(difference(&url, "https://h.example/a/mcp"), None);
        for (named, words) in [
            ("https://h.example/a/mcp/", "`/` at the end"),
            ("https://h.example", "origin alone"),
            ("https://h.example/", "origin alone"),
            ("http://h.example/a/mcp", "another scheme"),
            ("https://H.example/a/mcp", "upper and lower case"),
            ("HTTPS://h.example/a/mcp", "upper and lower case"),
            ("https://h.example/mcp", "another path"),
            ("https://other.example/a/mcp", "another host"),
            ("https://h.example.evil/a/mcp", "another host"),
            ("", "another host"),
        ] {
            assert!(difference(&url, named).unwrap().contains(words), "{named}");
        }
        let slash = ResourceUrl::parse("https://h.example/a/mcp/").unwrap();
        assert!(difference(&slash, "https://h.example/a/mcp").unwrap().contains("`/` at the end"));
    }
}
