//! The hand-written floor over HTTP: hyper, one body read and decoded, one written, and nothing a framework would add.
#![forbid(unsafe_code)]

mod rpc;

use std::{convert::Infallible, env, io, process, thread};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> io::Result<()> {
    thread::spawn(end_with_the_driver);
    let address = env::args().nth(1).expect("the address to listen on");
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream));
    }
}

async fn serve(stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond)).await;
}

/// Ignores path, method and headers.
async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = match request.into_body().collect().await {
        Ok(body) => rpc::answer(&body.to_bytes()),
        Err(_) => Vec::new(),
    };
    let mut response = Response::new(Full::from(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Every server here ends when its standard input does.
fn end_with_the_driver() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    process::exit(0);
}
