//! A [`Connection`] that several requests use at once: it is locked to admit a request, and to keep what is pending, but
//! not while a handler runs, which may take its time.

use std::sync::{Arc, Mutex};

use super::admission::refusal::id_in_use;
use super::connection::{self, Connection, Handled, Received};
use crate::call::begin::CallEnv;
use crate::call::in_flight::CallKind;
use crate::call::outbox::Outbox;
use crate::call::telemetry::watch::Arrival;
use crate::era::{self, Era, RequestParams};
use crate::jsonrpc::error::RpcError;
use crate::jsonrpc::{self, Message, Request, depth};
use crate::panic::catch;
use crate::sync::lock;

/// Receives one frame, as [`Connection::receive`] does.
pub(crate) fn receive(shared: &Mutex<Connection>, frame: &[u8], outbox: &Outbox, out: &mut Vec<u8>) -> Received {
    let limit = lock(shared).core.limits.depth;
    if !depth::exceeds(frame, limit)
        && let Ok(Message::Request(request)) = jsonrpc::parse(frame)
    {
        let params = era::read(&request);
        let era = era::of(&request, params.as_ref().ok());
        return receive_request(shared, era, &request, params, Arrival::now(frame.len()), outbox, out);
    }
    lock(shared).receive(frame, outbox, out)
}

/// Receives a request whose frame has been parsed and whose era is known.
pub(crate) fn receive_request<'a>(
    shared: &Mutex<Connection>,
    era: Era,
    request: &Request<'a>,
    params: Result<RequestParams<'a>, RpcError>,
    arrival: Arrival,
    outbox: &Outbox,
    out: &mut Vec<u8>,
) -> Received {
    let mut connection = lock(shared);
    connection.refresh();
    let mut watch = connection.watch_since(&request.method, arrival);
    let call = match connection.accept(era, request, params, outbox, &mut watch, out) {
        Ok(call) => call,
        Err(handled) => return connection.conclude(handled.watched(watch, out), outbox),
    };
    let (core, control) = (Arc::clone(&connection.core), Arc::clone(&connection.control));
    let catalog = Arc::clone(connection.view.catalog());
    drop(connection);
    let env = CallEnv { core: &core, catalog: &catalog, outbox, control: Some(&control) };
    let in_flight = &control.in_flight;
    let has_room = || in_flight.has_room(CallKind::Call, core.limits.in_flight, &mut lock(shared).calls);
    let handled = connection::begin_call(&env, request.id, &call, has_room, watch, out);
    // This may drop the last reference to a value of the user's, whose `Drop` may panic.
    catch(|| drop(catalog));
    let Handled::Waiting(mut call) = handled else { return handled.received() };
    let mut connection = lock(shared);
    if in_flight.contains(request.id) {
        // Another request with this id was begun at the same time.
        let refused = connection::refused(request.id, &id_in_use(), out);
        return refused.watched(std::mem::take(&mut call.to.watch), out).received();
    }
    connection.conclude(Handled::Waiting(call), outbox)
}
