//! [`Access`]: what a caller may do. [`Denied`]: what they lack for it.

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use super::User;
use super::challenge::Challenge;
use super::scope::{Granted, Hierarchy};
use crate::error::PAGE;
use crate::jsonrpc::error::RpcError;

/// The rules all callers are subject to.
#[derive(Debug, Default)]
pub(crate) struct AccessPolicy {
    /// The scopes that every call needs.
    pub(crate) baseline: Vec<Box<str>>,
    pub(crate) hierarchy: Hierarchy,
    /// Whether callers without a token are served what needs no scope.
    pub(crate) optional: bool,
    /// Whether lists show what the caller may not call.
    pub(crate) shows_all: bool,
    /// How callers are told over HTTP what they lack.
    pub(crate) challenge: Option<Challenge>,
}

/// A caller, and the rules.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) policy: Arc<AccessPolicy>,
    /// The caller; none without a token.
    pub(crate) user: Option<Arc<User>>,
    /// Whether the caller has the scopes that every call needs: found once per request.
    has_baseline: bool,
}

impl Access {
    /// What a caller may do, by these rules. One without a token has been let in without the scopes of every call.
    #[inline]
    pub(crate) fn new(policy: Arc<AccessPolicy>, user: Option<Arc<User>>) -> Self {
        let covers = |user: &User| policy.baseline.iter().all(|scope| policy.hierarchy.covers(&user.granted, scope));
        let has_baseline = user.as_deref().is_none_or(covers);
        Access { policy, user, has_baseline }
    }

    /// Whether the caller may do what needs these scopes beside those of every call.
    pub(crate) fn allows(&self, scopes: &[Box<str>]) -> bool {
        match &self.user {
            Some(user) => self.has_baseline && self.missing(&user.granted, scopes).next().is_none(),
            None => scopes.is_empty(),
        }
    }

    /// Whether the caller has the scopes that every call needs.
    #[inline]
    pub(crate) fn has_baseline(&self) -> bool {
        self.has_baseline
    }

    fn missing<'a>(&'a self, granted: &'a Granted, scopes: &'a [Box<str>]) -> impl Iterator<Item = &'a Box<str>> {
        scopes.iter().filter(|scope| !self.policy.hierarchy.covers(granted, scope))
    }

    /// Lets the caller do what needs these scopes, or says all that is missing.
    pub(crate) fn permit(&self, scopes: &[Box<str>]) -> Result<(), Box<Denied>> {
        if self.allows(scopes) { Ok(()) } else { Err(Box::new(self.deny(scopes))) }
    }

    /// The refusal of an operation that needs these scopes. It names all of them at once, with those of every call: a
    /// client that asks for them can go on.
    #[cold]
    pub(crate) fn deny(&self, scopes: &[Box<str>]) -> Denied {
        let mut needed = self.policy.baseline.clone();
        for scope in scopes {
            if !needed.contains(scope) {
                needed.push(scope.clone());
            }
        }
        let missing = match &self.user {
            Some(user) => self.missing(&user.granted, &needed).cloned().collect(),
            None => needed.clone(),
        };
        let mut denied = Denied { is_anonymous: self.user.is_none(), needed, missing, challenge: None };
        denied.challenge = self.policy.challenge.as_ref().map(|challenge| match &self.user {
            Some(user) => challenge.insufficient_scope(user.scheme(), &denied.to_string(), &denied.needed),
            None => challenge.anonymous(&denied.needed),
        });
        denied
    }
}

/// The rights of the caller of a handler.
#[derive(Debug, Clone)]
pub(crate) struct Rights {
    pub(crate) access: Option<Access>,
    /// Whether the caller is elsewhere. Without rules, such a caller has no scope; one on stdio has all.
    pub(crate) is_remote: bool,
    /// The scopes of the handler.
    pub(crate) scopes: Option<Arc<[Box<str>]>>,
}

impl Rights {
    /// Lets the handler do what needs these scopes, or says all that is missing.
    pub(crate) fn permit(&self, scopes: &[Box<str>]) -> Result<(), Denied> {
        match &self.access {
            Some(access) if access.allows(scopes) => Ok(()),
            // With those of the handler: a client that asks for no more than these could not call it.
            Some(access) => Err(access.deny(&[self.scopes.as_deref().unwrap_or_default(), scopes].concat())),
            None if scopes.is_empty() || !self.is_remote => Ok(()),
            None => Err(Denied::without_authorization(scopes)),
        }
    }
}

/// A caller lacks scopes for what they want to do.
#[derive(Debug, Clone)]
pub(crate) struct Denied {
    /// Whether there was no token at all.
    pub(crate) is_anonymous: bool,
    /// All scopes of the operation.
    pub(crate) needed: Vec<Box<str>>,
    /// Those the caller does not have.
    pub(crate) missing: Vec<Box<str>>,
    /// The value of `WWW-Authenticate`, over HTTP.
    pub(crate) challenge: Option<String>,
}

impl Denied {
    /// The refusal of a server that cannot tell its callers apart.
    #[cold]
    pub(crate) fn without_authorization(scopes: &[Box<str>]) -> Self {
        tracing::error!(
            "a handler with scopes is called, but nobody has any: set up `HttpService::authorize`; \
             see {PAGE}#authorization-that-cannot-work"
        );
        let scopes = scopes.to_vec();
        Denied { is_anonymous: false, needed: scopes.clone(), missing: scopes, challenge: None }
    }

    /// As a JSON-RPC error, which is all a client on stdio gets.
    pub(crate) fn to_error(&self) -> RpcError {
        let data = json!({"requiredScopes": self.needed, "missingScopes": self.missing});
        RpcError::new(RpcError::FORBIDDEN, format!("Forbidden: {self}")).with_data(data)
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = self.missing.join(" ");
        match self.missing.len() {
            1 => write!(f, "this needs the scope {scopes}"),
            _ => write!(f, "this needs the scopes {scopes}"),
        }
    }
}

impl std::error::Error for Denied {}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(user: Option<User>) -> Access {
        let policy = AccessPolicy {
            baseline: vec!["read".into()],
            hierarchy: Hierarchy::new(|granted, needed| granted == "admin" && needed != "root"),
            challenge: Some(Challenge::new("https://h/doc".into())),
            ..AccessPolicy::default()
        };
        Access::new(Arc::new(policy), user.map(Arc::new))
    }

    #[test]
    fn all_scopes_of_an_operation_are_in_one_challenge() {
        let denied = access(Some(User::new("a").with_scopes(["write"]))).deny(&["write".into(), "purge".into()]);
        assert_eq!(denied.needed, ["read".into(), "write".into(), "purge".into()]);
        assert_eq!(denied.missing, ["read".into(), "purge".into()]);
        let challenge = r#"Bearer error="insufficient_scope", scope="read write purge", resource_metadata="https://h/doc", error_description="this needs the scopes read purge""#;
        assert_eq!(denied.challenge.as_deref(), Some(challenge));
    }

    #[test]
    fn caller_without_a_token_is_asked_for_one() {
        let anonymous = access(None);
        assert!(anonymous.allows(&[]) && !anonymous.allows(&["write".into()]));
        let denied = anonymous.deny(&["write".into()]);
        assert!(denied.is_anonymous);
        assert_eq!(
            denied.challenge.as_deref(),
            Some(r#"Bearer resource_metadata="https://h/doc", scope="read write""#)
        );
    }

    #[test]
    fn hierarchy_holds_for_baseline_and_operation() {
        let admin = access(Some(User::new("a").with_scopes(["admin"])));
        assert!(admin.allows(&["write".into()]));
        assert_eq!(admin.permit(&["root".into()]).unwrap_err().missing, ["root".into()]);
        let nobody = access(Some(User::new("a")));
        assert!(!nobody.has_baseline() && !nobody.allows(&[]));
    }
}
