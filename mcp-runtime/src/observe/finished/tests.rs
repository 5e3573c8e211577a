//! Whose fault an outcome is, and which labels it has.

use super::*;

fn finished(outcome: Outcome, code: Option<i32>) -> Finished<'static> {
    Finished {
        method: "tools/call",
        target: None,
        uri: None,
        revision: None,
        transport: Transport::Stdio,
        http_version: None,
        is_unix_socket: false,
        duration: Duration::ZERO,
        outcome,
        code,
        status: None,
        bytes_in: 0,
        bytes_out: 0,
        user: None,
        peer: None,
        session: None,
        http_request_id: None,
        client: ClientField::Unknown,
    }
}

/// Every code with the outcomes that have one: `error.type`, and whose fault it is.
#[test]
fn codes_are_the_callers_the_conventions_or_the_servers() {
    let table = [
        (RpcError::PARSE, None, false),
        (RpcError::INVALID_REQUEST, None, false),
        (RpcError::METHOD_NOT_FOUND, None, false),
        (RpcError::INVALID_PARAMS, None, false),
        (RpcError::RESOURCE_NOT_FOUND, None, false),
        (RpcError::INTERNAL, Some("-32603"), true),
        (RpcError::USER_DECLINED, Some("-1"), false),
        (RpcError::FORBIDDEN, Some("-31403"), false),
        (RpcError::URL_REQUIRED, Some("-32042"), false),
        (RpcError::MISSING_CAPABILITY, Some("-32021"), false),
        (RpcError::HEADER_MISMATCH, Some("-32020"), false),
        (RpcError::UNSUPPORTED_VERSION, Some("-32022"), false),
        (4004, Some("4004"), true),
    ];
    for (code, error_type, of_server) in table {
        for outcome in [Outcome::Error, Outcome::Refused, Outcome::Panicked] {
            let finished = finished(outcome, Some(code));
            assert_eq!(finished.error_type().as_deref(), error_type, "{outcome} {code}");
            assert_eq!(finished.is_server_error(), of_server, "{outcome} {code}");
            assert_eq!(finished.is_span_error(), error_type.is_some(), "{outcome} {code}");
        }
    }
    // A rate limit refuses. A handler may use the same code for anything.
    for (outcome, of_server) in [(Outcome::Refused, false), (Outcome::Error, true)] {
        let finished = finished(outcome, Some(RpcError::THROTTLED));
        assert_eq!((finished.error_type().as_deref(), finished.is_server_error()), (Some("-32000"), of_server));
    }
}

#[test]
fn outcomes_without_a_code() {
    for &outcome in Outcome::ALL {
        let (error_type, of_server) = match outcome {
            Outcome::ToolError | Outcome::Panicked => (Some("tool_error"), true),
            Outcome::TimedOut => (Some("timeout"), true),
            Outcome::Cancelled => (Some("cancelled"), false),
            Outcome::ClientGone => (Some("client_gone"), false),
            Outcome::Shutdown => (Some("shutdown"), true),
            _ => (None, false),
        };
        let told = finished(outcome, None);
        assert_eq!((told.error_type().as_deref(), told.is_server_error()), (error_type, of_server), "{outcome}");
    }
    for outcome in [Outcome::Cancelled, Outcome::ClientGone] {
        let listen = Finished { method: "subscriptions/listen", ..finished(outcome, None) };
        assert_eq!(listen.error_type(), None, "a stream ends that way");
    }
    let refused = |status| Finished { status: Some(status), ..finished(Outcome::Refused, None) };
    assert_eq!((refused(404).error_type(), refused(503).error_type().as_deref()), (None, Some("503")));
}

#[test]
fn ten_thousand_codes_of_clients_are_few_labels() {
    let label = |code: i64| {
        let asked = Asked {
            method: "roots/list",
            revision: Revision::V2025_11_25,
            transport: Transport::Stdio,
            duration: Duration::ZERO,
            outcome: Outcome::Error,
            code: Some(code),
        };
        assert_eq!(asked.status_code(), asked.error_type());
        asked.error_type().unwrap()
    };
    let labels: std::collections::HashSet<_> =
        (0..10_000).map(|code| label(code * 7 - 3)).chain([i64::MIN, i64::MAX, -31_999, -32_769].map(label)).collect();
    assert_eq!(labels, [OTHER.into()].into());
    assert_eq!([label(-1), label(-32_601), label(-32_768), label(-32_000)], ["-1", "-32601", "-32768", "-32000"]);
}
