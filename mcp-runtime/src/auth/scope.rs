//! Scopes: their grammar, and whether those granted cover those needed.

use std::fmt;
use std::sync::Arc;

use crate::panic;

/// Says whether a granted scope implies a needed one.
type ImpliesFn = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The scopes a caller has been granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Granted {
    /// Every scope there is: the caller is not limited by scopes.
    All,
    Only(Vec<Box<str>>),
}

impl Granted {
    pub(crate) fn only(scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Granted::Only(scopes.into_iter().map(|scope| scope.into().into_boxed_str()).collect())
    }

    pub(crate) fn contains(&self, needed: &str) -> bool {
        match self {
            Granted::All => true,
            Granted::Only(scopes) => scopes.iter().any(|scope| **scope == *needed),
        }
    }
}

/// A hierarchy of scopes: which ones a granted scope implies beside itself.
#[derive(Clone, Default)]
pub(crate) struct Hierarchy(Option<ImpliesFn>);

impl Hierarchy {
    pub(crate) fn new(implies: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        Hierarchy(Some(Arc::new(implies)))
    }

    /// Whether there is one.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the granted scopes cover a needed one.
    pub(crate) fn covers(&self, granted: &Granted, needed: &str) -> bool {
        granted.contains(needed)
            || match (&self.0, granted) {
                (Some(implies), Granted::Only(scopes)) => {
                    // A function of the user's, which may panic.
                    scopes.iter().any(|scope| panic::catch(|| implies(scope, needed)).unwrap_or(false))
                }
                _ => false,
            }
    }
}

impl fmt::Debug for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hierarchy(fn)" } else { "Hierarchy" })
    }
}

/// Says what is wrong with a scope, if anything is. The macros check the same.
/// <https://www.rfc-editor.org/rfc/rfc6749#section-3.3>
pub(crate) fn check(scope: &str) -> Result<(), String> {
    if scope.is_empty() {
        return Err("a scope is empty; leave it out".to_owned());
    }
    let allowed = |c: char| matches!(c, '\x21' | '\x23'..='\x5b' | '\x5d'..='\x7e');
    match scope.chars().find(|c| !allowed(*c)) {
        Some(' ') => Err(format!("`{scope}` is several scopes: give each by itself")),
        Some(other) => Err(format!(
            "`{other}` cannot be in a scope (`{scope}`): allowed are visible ASCII characters except `\"` and `\\`"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_visible_ascii_without_quotes() {
        for good in ["notes:read", "https://example.com/notes.read", "a", "!#[]~"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "a b", "a\"b", "a\\b", "ä", "a\n", "\u{7f}"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn hierarchy_is_asked_for_what_is_not_granted() {
        let hierarchy =
            Hierarchy::new(|granted, needed| granted == "admin" || needed.starts_with(&format!("{granted}:")));
        let granted = Granted::only(["notes"]);
        assert!(hierarchy.covers(&granted, "notes") && hierarchy.covers(&granted, "notes:read"));
        assert!(!hierarchy.covers(&granted, "files"));
        assert!(hierarchy.covers(&Granted::only(["admin"]), "files"));
        assert!(hierarchy.covers(&Granted::All, "files"));
        assert!(!Hierarchy::default().covers(&granted, "notes:read"));
        let panics = Hierarchy::new(|_, _| panic!("no"));
        assert!(!panics.covers(&granted, "files") && panics.covers(&granted, "notes"));
    }
}
