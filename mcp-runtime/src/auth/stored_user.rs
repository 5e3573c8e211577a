//! A [`User`] in a store: another replica runs their durable task again, without their token.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::User;
use super::scope::Granted;

/// What is stored of a user. Neither the token, nor what it is bound to: nobody proves anything again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredUser {
    issuer: String,
    subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    /// `None`: the user is not limited by scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<Box<str>>>,
    /// In milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    /// As JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claims: Option<Box<str>>,
}

impl User {
    /// The user as JSON.
    pub(crate) fn to_stored(&self) -> Option<String> {
        let since = self.expires_at().and_then(|end| end.duration_since(UNIX_EPOCH).ok());
        let stored = StoredUser {
            issuer: self.issuer().to_owned(),
            subject: self.subject().to_owned(),
            client_id: self.client_id().map(str::to_owned),
            scopes: match &self.granted {
                Granted::All => None,
                Granted::Only(scopes) => Some(scopes.clone()),
            },
            expires_at: since.and_then(|since| u64::try_from(since.as_millis()).ok()),
            claims: self.raw_claims().map(Into::into),
        };
        serde_json::to_string(&stored).ok()
    }

    /// A user that was stored. `None` if the text is none, which another version may have written.
    pub(crate) fn from_stored(text: &str) -> Option<Self> {
        let StoredUser { issuer, subject, client_id, scopes, expires_at, claims } = serde_json::from_str(text).ok()?;
        let mut user = User::new(subject).with_issuer(issuer).with_granted(match scopes {
            None => Granted::All,
            Some(scopes) => Granted::Only(scopes),
        });
        if let Some(client_id) = client_id {
            user = user.with_client_id(client_id);
        }
        if let Some(end) = expires_at.and_then(|millis| UNIX_EPOCH.checked_add(Duration::from_millis(millis))) {
            user = user.with_expiry(end);
        }
        if let Some(claims) = claims {
            user = user.with_raw_claims(claims);
        }
        Some(user)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn stored_user_is_the_same() {
        let plain = User::new("alice");
        let end = UNIX_EPOCH + Duration::from_millis(2_000_000_000_123);
        let full = User::new("a|\"b\"").with_issuer("https://i").with_client_id("c").with_scopes(["x", "y"]);
        let full = full.with_expiry(end).with_claims(json!({"email": "a@b", "text": "\"quoted\""})).unwrap();
        let all = User::new("ci").with_granted(Granted::All);
        for user in [plain, full, all] {
            let again = User::from_stored(&user.to_stored().unwrap()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{user:?}"));
            assert_eq!(again.principal(), user.principal());
            assert_eq!(again.claims::<Value>().ok(), user.claims::<Value>().ok());
        }
        assert!(User::from_stored("{}").is_none() && User::from_stored("").is_none());
    }
}
