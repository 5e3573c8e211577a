//! The route of a request: decided once, by its method, path, headers and message, and by nothing else.

use http::request::Parts;
use http::{Method, StatusCode};

use super::request::HttpRequest;
use super::request::accept::ResponseFormat;
use super::request::headers::mismatch;
use crate::era::{self, Era, HeaderConflict, RequestParams};
use crate::jsonrpc::Request;
use crate::jsonrpc::error::RpcError;
use crate::protocol::Revision;

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Endpoint,
    /// The stream of HTTP+SSE.
    SseStream,
    /// The address for messages of HTTP+SSE.
    SseMessages,
    /// An address of HTTP+SSE, by the wrong method. Newer clients probe it; 405 tells them to try GET.
    SseWrongMethod,
    NotFound,
}

/// What the path of a request leads to. `endpoint` is the path of the endpoint, if it has one of its own.
pub(super) fn target(parts: &Parts, endpoint: Option<&str>, legacy_sse: bool) -> Target {
    if legacy_sse {
        let last = parts.uri.path().rsplit('/').next().unwrap_or_default();
        match (last, &parts.method) {
            ("sse", &Method::GET) => return Target::SseStream,
            ("messages", &Method::POST) => return Target::SseMessages,
            ("sse" | "messages", _) => return Target::SseWrongMethod,
            _ => {}
        }
    }
    if endpoint.is_some_and(|path| path != parts.uri.path()) { Target::NotFound } else { Target::Endpoint }
}

/// Where a request of the endpoint goes.
#[derive(Debug)]
pub(super) enum Route {
    /// A request of 2026-07-28, by itself.
    Stateless,
    /// A request of an older revision, in the session it names.
    InSession,
    /// An `initialize`, which opens a session.
    Open,
    /// A request of an older revision, at a server without sessions. The revision is the header's.
    Sessionless(Option<Revision>),
    Refuse(StatusCode, RpcError),
}

/// A message of a POST that is not a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unanswered<'a> {
    /// A notification, by its method.
    Notification(&'a str),
    Response,
    /// Several messages in a list.
    Batch,
}

/// Where a message goes that is not a request.
#[derive(Debug)]
pub(super) enum MessageRoute {
    /// A batch, in the session it names.
    Batch,
    /// A notification or a response, in the session it names.
    InSession,
    /// A notification that belongs to no session.
    LoneNotification,
    /// Nothing comes of it: 202.
    Ignore,
}

/// Where a request without a message goes.
#[derive(Debug)]
pub(super) enum EmptyRoute {
    /// GET: the event stream of a session.
    EventStream,
    /// DELETE: the end of a session.
    EndSession,
    /// 405, with the methods that are allowed.
    NotAllowed(&'static str),
    Refuse(StatusCode, RpcError),
}

/// Routes a message that is not a request.
pub(super) fn classify_message(http: &HttpRequest<'_>, message: Unanswered<'_>, has_sessions: bool) -> MessageRoute {
    match message {
        Unanswered::Batch => MessageRoute::Batch,
        Unanswered::Response if !has_sessions => MessageRoute::Ignore,
        Unanswered::Notification(_) if !has_sessions || !http.names_session() || http.is_stateless() => {
            MessageRoute::LoneNotification
        }
        // It follows `shutdown`, which has ended the session; and no client ends a server of many.
        Unanswered::Notification("exit") => MessageRoute::Ignore,
        Unanswered::Notification(_) | Unanswered::Response => MessageRoute::InSession,
    }
}

/// Routes a request.
pub(super) fn classify(
    http: &HttpRequest<'_>,
    request: &Request<'_>,
    params: Option<&RequestParams<'_>>,
    has_sessions: bool,
) -> Route {
    classify_request(http, request, params, has_sessions).unwrap_or_else(|(status, error)| Route::Refuse(status, error))
}

fn classify_request(
    http: &HttpRequest<'_>,
    request: &Request<'_>,
    params: Option<&RequestParams<'_>>,
    has_sessions: bool,
) -> Result<Route, (StatusCode, RpcError)> {
    let bad = |error| (StatusCode::BAD_REQUEST, error);
    let streams = http.format.is_some_and(ResponseFormat::streams);
    if http.format.is_none() || (!streams && request.method == "subscriptions/listen") {
        let text = "send `Accept: application/json, text/event-stream`: the answer is one of them";
        return Err((StatusCode::NOT_ACCEPTABLE, RpcError::invalid_request(text)));
    }
    let version = http.headers.version().map_err(bad)?;
    let era = era::of_http(request, params, version).map_err(|conflict| match conflict {
        HeaderConflict::Initialize => bad(mismatch("`initialize` has no place in the revision the header names")),
        HeaderConflict::Unknown(version) => bad(era::unsupported_version(version)),
    })?;
    Ok(match era {
        Era::Stateless => Route::Stateless,
        Era::Session if !has_sessions => Route::Sessionless(version.and_then(Revision::with_sessions)),
        Era::Session if request.method == "initialize" && !http.names_session() => Route::Open,
        Era::Session => Route::InSession,
    })
}

/// Routes a request without a message.
pub(super) fn classify_empty(http: &HttpRequest<'_>, has_sessions: bool) -> EmptyRoute {
    let in_session = has_sessions && !http.is_stateless();
    match http.parts.method {
        Method::GET if !in_session || !http.names_session() => EmptyRoute::NotAllowed("POST"),
        Method::GET if !http.format.is_some_and(ResponseFormat::streams) => {
            let text = "this is an event stream: send `Accept: text/event-stream`";
            EmptyRoute::Refuse(StatusCode::NOT_ACCEPTABLE, RpcError::new(RpcError::INVALID_REQUEST, text))
        }
        Method::GET => EmptyRoute::EventStream,
        Method::DELETE if !in_session => EmptyRoute::NotAllowed("POST"),
        Method::DELETE => EmptyRoute::EndSession,
        _ => EmptyRoute::NotAllowed("POST, GET, DELETE"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::jsonrpc::{self, Message};
    use crate::transport::http::request::headers::Headers;

    /// Names and values.
    type HeaderList<'a> = &'a [(&'a str, &'a str)];

    const VERSION: &str = "mcp-protocol-version";
    const SESSION: &str = "mcp-session-id";
    const MODERN: &str = r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;

    fn parts(method: &Method, path: &str, headers: HeaderList<'_>) -> Arc<Parts> {
        let mut request = http::Request::builder().method(method.clone()).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Arc::new(request.body(()).unwrap().into_parts().0)
    }

    /// The route of a request, as text: the variant, and what a refusal says of itself.
    fn routed(method: &Method, headers: HeaderList<'_>, body: &str, has_sessions: bool) -> String {
        let parts = parts(method, "/mcp", headers);
        let headers = Headers::of(&parts.headers);
        let http = HttpRequest::new(&parts, &headers, None);
        let refused = |status: StatusCode, error: RpcError| format!("{} {}", status.as_u16(), error.code);
        if method != Method::POST {
            return match classify_empty(&http, has_sessions) {
                EmptyRoute::Refuse(status, error) => refused(status, error),
                EmptyRoute::NotAllowed(methods) => format!("405 {methods}"),
                route => format!("{route:?}"),
            };
        }
        let message = match jsonrpc::parse(body.as_bytes()) {
            _ if body.starts_with('[') => Unanswered::Batch,
            Ok(Message::Request(request)) => {
                let params = era::read(&request).ok();
                return match classify(&http, &request, params.as_ref(), has_sessions) {
                    Route::Refuse(status, error) => refused(status, error),
                    route => format!("{route:?}"),
                };
            }
            Ok(Message::Notification(notification)) => {
                return format!(
                    "{:?}",
                    classify_message(&http, Unanswered::Notification(&notification.method), has_sessions)
                );
            }
            Ok(Message::Response(_)) => Unanswered::Response,
            Err(rejection) => panic!("{body}: {:?}", rejection.error),
        };
        format!("{:?}", classify_message(&http, message, has_sessions))
    }

    /// A request with this method and these members.
    fn request(method: &str, members: &str) -> String {
        let comma = if members.is_empty() { "" } else { "," };
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{comma}{members}}}"#)
    }

    #[test]
    fn post_is_routed_by_body_and_headers() {
        let ping = request("ping", "");
        let modern = request("tools/list", MODERN);
        let initialize = request("initialize", "");
        let listen = request("subscriptions/listen", MODERN);
        let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let (new, old, session) = ((VERSION, "2026-07-28"), (VERSION, "2025-06-18"), (SESSION, "s"));
        // Headers, body, with sessions, without.
        let table: &[(HeaderList<'_>, &str, &str, &str)] = &[
            (&[], &modern, "Stateless", "Stateless"),
            (&[new], &modern, "Stateless", "Stateless"),
            (&[new, session], &modern, "Stateless", "Stateless"),
            // The header alone makes it stateless; the ladder then says what the body lacks.
            (&[new], &ping, "Stateless", "Stateless"),
            (&[], &listen, "Stateless", "Stateless"),
            (&[("accept", "application/json")], &listen, "406 -32600", "406 -32600"),
            (&[], &ping, "InSession", "Sessionless(None)"),
            (&[old, session], &ping, "InSession", "Sessionless(Some(V2025_06_18))"),
            (&[(VERSION, "2019-01-01")], &ping, "400 -32022", "400 -32022"),
            (&[("accept", "text/plain")], &ping, "406 -32600", "406 -32600"),
            (&[], &initialize, "Open", "Sessionless(None)"),
            (&[session], &initialize, "InSession", "Sessionless(None)"),
            (&[new], &initialize, "400 -32020", "400 -32020"),
            (&[session], "[]", "Batch", "Batch"),
            (&[session], told, "InSession", "LoneNotification"),
            (&[], told, "LoneNotification", "LoneNotification"),
            (&[new, session], told, "LoneNotification", "LoneNotification"),
            (&[session], exit, "Ignore", "LoneNotification"),
            (&[session], answer, "InSession", "Ignore"),
            (&[], answer, "InSession", "Ignore"),
        ];
        for (headers, body, with, without) in table {
            assert_eq!(routed(&Method::POST, headers, body, true), *with, "{headers:?} {body}");
            assert_eq!(routed(&Method::POST, headers, body, false), *without, "{headers:?} {body}, without sessions");
        }
    }

    #[test]
    fn other_methods_are_routed_by_headers() {
        let (new, session, events) = ((VERSION, "2026-07-28"), (SESSION, "s"), ("accept", "text/event-stream"));
        let table: &[(Method, HeaderList<'_>, &str, &str)] = &[
            (Method::GET, &[session, events], "EventStream", "405 POST"),
            (Method::GET, &[session, ("accept", "application/json")], "406 -32600", "405 POST"),
            (Method::GET, &[events], "405 POST", "405 POST"),
            (Method::GET, &[session, events, new], "405 POST", "405 POST"),
            (Method::DELETE, &[session], "EndSession", "405 POST"),
            (Method::DELETE, &[session, new], "405 POST", "405 POST"),
            (Method::PUT, &[session], "405 POST, GET, DELETE", "405 POST, GET, DELETE"),
        ];
        for (method, headers, with, without) in table {
            assert_eq!(routed(method, headers, "", true), *with, "{method} {headers:?}");
            assert_eq!(routed(method, headers, "", false), *without, "{method} {headers:?}, without sessions");
        }
    }

    #[test]
    fn path_leads_to_the_endpoint_or_to_legacy_sse() {
        let to = |method, path, endpoint, sse| target(&parts(&method, path, &[]), endpoint, sse);
        assert_eq!(to(Method::POST, "/mcp", Some("/mcp"), false), Target::Endpoint);
        assert_eq!(to(Method::POST, "/other", Some("/mcp"), false), Target::NotFound);
        assert_eq!(to(Method::POST, "/other", None, false), Target::Endpoint);
        assert_eq!(to(Method::GET, "/sse", Some("/mcp"), true), Target::SseStream);
        assert_eq!(to(Method::POST, "/messages", Some("/mcp"), true), Target::SseMessages);
        assert_eq!(to(Method::POST, "/sse", Some("/mcp"), true), Target::SseWrongMethod);
        assert_eq!(to(Method::GET, "/sse", Some("/mcp"), false), Target::NotFound);
    }
}
