//! The least an uncached token can cost: its RS256 signature, verified `TIMES` times and nothing else.
//! `signature MODULUS EXPONENT TOKEN TIMES`, the first two as in a JSON Web Key.
#![forbid(unsafe_code)]

use std::env;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [modulus, exponent, token, times] = &arguments[..] else { panic!("MODULUS EXPONENT TOKEN TIMES") };
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
    let (n, e) = (decode(modulus), decode(exponent));
    let (signed, signature) = token.rsplit_once('.').expect("a token");
    let signature = decode(signature);
    for _ in 0..times.parse().expect("a number") {
        let key = RsaPublicKeyComponents { n: &n, e: &e };
        key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature).expect("a signature");
    }
}
