//! The HTTPS client over TLS: certificates are verified, and roots can be added.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::https::HttpsFetcher;
use super::{FetchRequest, send};
use crate::auth::doctor::{Check, Doctor};

/// Serves one document over TLS, with a certificate for `localhost`. Returns its URL and the certificate of its issuer.
async fn serve(document: &'static str) -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/jwks", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let length = document.len();
            let response =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{document}");
            let _ = stream.write_all(response.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (url, root.pem())
}

#[tokio::test]
async fn certificates_are_verified_with_known_and_added_roots() {
    let (url, root) = serve(r#"{"keys":[]}"#).await;
    let get =
        async |fetcher: &HttpsFetcher, url: &str| send(fetcher, FetchRequest { url: url.to_owned(), form: None }).await;
    let unknown = get(&HttpsFetcher::new(), &url).await.unwrap_err();
    assert!(unknown.to_string().contains("certificate"), "{unknown}");
    let trusting = HttpsFetcher::with_root_certificates(root.as_bytes()).unwrap();
    assert_eq!(get(&trusting, &url).await.unwrap().body, br#"{"keys":[]}"#);
    // The certificate is for the name.
    let other_name = get(&trusting, &url.replace("localhost", "127.0.0.1")).await.unwrap_err();
    assert!(other_name.to_string().contains("certificate"), "{other_name}");
}

#[tokio::test]
async fn doctor_tells_a_certificate_that_is_not_trusted() {
    let (url, root) = serve("{}").await;
    let challenge = async |doctor: Doctor| {
        let findings = doctor.examine().await.findings;
        findings.into_iter().find(|finding| finding.check == Check::Challenge).unwrap()
    };
    let unknown = challenge(Doctor::new(&url)).await;
    assert!(unknown.seen.contains("cannot be reached") && unknown.seen.contains("certificate"), "{unknown:?}");
    assert!(
        unknown.remedy.as_deref().is_some_and(|remedy| remedy.contains("its certificate is not trusted")),
        "{unknown:?}"
    );
    let trusting = HttpsFetcher::with_root_certificates(root.as_bytes()).unwrap();
    let trusted = challenge(Doctor::new(&url).client(trusting)).await;
    assert!(trusted.seen.contains("everybody is served"), "{trusted:?}");
}
