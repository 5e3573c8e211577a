//! The keys of an authorization server: whether they can be fetched, and used.

use super::report::{Check, Report};
use super::visit::{Visit, quote, unreachable};
use crate::auth::fetch::check_url;
use crate::auth::jose::json;
use crate::auth::jose::jwk::{Jwk, JwkError};

/// No more keys than the server looks at.
const MAX_KEYS: usize = 100;

pub(super) async fn examine(visit: &Visit, issuer: &str, url: &str, report: &mut Report) {
    let check = Check::IssuerKeys;
    if issuer.starts_with("https://") && !url.starts_with("https://") || check_url(url).is_err() {
        let seen = format!("the keys of {issuer} are at {}, which is not an https URL", quote(url));
        return report.fail(check, seen, "publish them over https: whoever is on the way could replace them");
    }
    let reply = match visit.get(url).await {
        Ok(reply) => reply,
        Err(why) => return report.fail(check, format!("{url} cannot be reached: {why}"), unreachable(&why)),
    };
    if reply.is_redirect() {
        let remedy = "name the URL that it redirects to: redirects to another host are not followed";
        return report.warn(check, format!("{url}: {}", reply.summary()), remedy);
    }
    if reply.status() != 200 {
        let remedy = "`jwks_uri` of the metadata has to be public; `.jwks_url(…)` names another place";
        return report.fail(check, format!("{url}: {}", reply.summary()), remedy);
    }
    if reply.is_too_long() {
        let seen = format!("{url} is longer than 64 KiB, so the server does not read it");
        return report.fail(check, seen, "publish the keys that sign access tokens, and no others");
    }
    judge(url, &reply.text(), report);
}

fn judge(url: &str, text: &str, report: &mut Report) {
    let check = Check::IssuerKeys;
    let object = json::object(text);
    let Some(entries) = object.as_ref().and_then(|object| object.get("keys")).and_then(json::elements) else {
        let seen = format!("{url} is not a JSON Web Key Set");
        return report.fail(check, seen, "`jwks_uri` has to lead to {\"keys\": […]}");
    };
    let mut reasons: Vec<JwkError> = Vec::new();
    let mut usable = 0;
    for entry in entries.iter().take(MAX_KEYS) {
        match json::inner_object(*entry).ok_or(JwkError::Malformed).and_then(|entry| Jwk::read(&entry)) {
            Ok(_) => usable += 1,
            Err(reason) if !reasons.contains(&reason) => reasons.push(reason),
            Err(_) => {}
        }
    }
    let why: Vec<&str> = reasons.iter().map(|reason| reason.reason()).collect();
    if reasons.contains(&JwkError::Private) {
        let seen = format!("{url}: a key is private or symmetric: {}", JwkError::Private.reason());
        report.fail(check, seen, "replace the key at once, and publish public keys only");
    } else if usable == 0 {
        let seen = if why.is_empty() {
            format!("{url} has no keys")
        } else {
            format!("{url}: none of {} keys can be used: {}", entries.len(), why.join("; "))
        };
        report.fail(check, seen, "let the issuer sign with RSA (2048 bits or more), P-256, P-384 or Ed25519");
    } else if reasons.contains(&JwkError::RsaSize) {
        let seen = format!("{url}: a key is not used: {}", JwkError::RsaSize.reason());
        report.warn(check, seen, "replace it: tokens that it signs are rejected");
    } else {
        report.ok(check, format!("{url}: {usable} of {} keys can be used", entries.len()));
    }
}
