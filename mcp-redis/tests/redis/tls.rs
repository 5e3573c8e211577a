//! TLS: with a certificate of the test's own authority.

use std::io::ErrorKind;

use mcp_redis::Redis;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::server::{Server, free_port, patient};

/// An authority in PEM, and a server with a certificate by it.
async fn server() -> (String, Server, u16) {
    let folder = std::env::temp_dir().join(format!("mcp-redis-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let file = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_string_lossy().into_owned()
    };
    let (certificate, key) = (file("certificate.pem", certificate.pem()), file("key.pem", key.serialize_pem()));
    let (root, port) = (file("authority.pem", authority.pem()), free_port());
    let options = ["--tls-port", &port.to_string(), "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let options = [&options[..], &["--tls-ca-cert-file", &root, "--tls-auth-clients", "no"]].concat();
    let server = Server::with(&options).await;
    // Read by now.
    std::fs::remove_dir_all(folder).unwrap();
    (authority.pem(), server, port)
}

#[tokio::test]
async fn tls_is_verified() {
    let (authority, _server, port) = server().await;
    let url = format!("rediss://127.0.0.1:{port}/");
    let redis = patient(&url).root_certificate(authority.clone()).connect().await.unwrap();
    redis.ping().await.unwrap();
    let error = Redis::connect(&url).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{:?}: {error}", error.kind());
    let error = Redis::builder("redis://127.0.0.1/").root_certificate(authority).connect_lazy().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}
