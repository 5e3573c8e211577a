//! Client capabilities: the revisions that have them, and how clients declare them.

use std::fmt;

use serde_json::Value;

use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::{Raw, constant};
use crate::protocol::{ClientCapability, Revision, TASKS_EXTENSION};

impl ClientCapability {
    /// Whether a client declares it, in a revision that has it. `settings` returns the declaration under a name.
    pub(crate) fn is_declared<'a>(self, revision: Revision, settings: impl Fn(&str) -> Option<&'a str>) -> bool {
        let (name, part, since) = self.parts();
        let Some(declared) = settings(name).filter(|settings| revision >= since && *settings != "null") else {
            return false;
        };
        let declared = Object::read(Raw::new_unchecked(declared)).unwrap_or_default();
        let has = |part: &str| declared.get(part).is_some_and(|settings| settings.get() != "null");
        match (self, part) {
            // An elicitation capability without modes means forms.
            (Self::Elicitation, _) => !revision.has_elicitation_modes() || has("form") || !has("url"),
            (_, Some(part)) => has(part),
            (_, None) => true,
        }
    }

    /// Its name, the member of its settings, and the first revision that has it.
    fn parts(self) -> (&'static str, Option<&'static str>, Revision) {
        match self {
            Self::Elicitation => ("elicitation", None, Revision::V2025_06_18),
            Self::ElicitationUrl => ("elicitation", Some("url"), Revision::V2025_11_25),
            Self::Sampling => ("sampling", None, Revision::V2024_11_05),
            Self::SamplingTools => ("sampling", Some("tools"), Revision::V2025_11_25),
            Self::SamplingContext => ("sampling", Some("context"), Revision::V2025_11_25),
            Self::Roots => ("roots", None, Revision::V2024_11_05),
            Self::Tasks => ("extensions", Some(TASKS_EXTENSION), Revision::V2026_07_28),
        }
    }

    /// The first revision that has it.
    pub(crate) fn since(self) -> Revision {
        self.parts().2
    }

    /// The declaration a client would need.
    pub(crate) fn required(self) -> Value {
        match self.parts() {
            // Names the mode: `{}` would mean the same, but a client may have declared the other mode.
            _ if self == Self::Elicitation => constant(r#"{"elicitation":{"form":{}}}"#),
            (name, Some(part), _) => constant(&format!(r#"{{"{name}":{{"{part}":{{}}}}}}"#)),
            (name, None, _) => constant(&format!(r#"{{"{name}":{{}}}}"#)),
        }
    }

    /// Its name in an error for a client of this revision: with the mode, where clients declare modes.
    pub(crate) fn declared_as(self, revision: Revision) -> String {
        match self {
            Self::Elicitation if revision.has_elicitation_modes() => "elicitation.form".to_owned(),
            _ => self.to_string(),
        }
    }

    /// The beginning of the error when it is missing.
    pub(crate) fn missing_text(self) -> &'static str {
        match self {
            Self::Elicitation => "this client cannot ask its user to fill in a form",
            Self::ElicitationUrl => "this client cannot ask its user to visit a page",
            Self::Sampling => "this client cannot ask its model",
            Self::SamplingTools => "this client cannot give tools to its model",
            Self::SamplingContext => "this client cannot give context to its model",
            Self::Tasks => "this client does not support tasks",
            Self::Roots => "this client does not share its roots",
        }
    }
}

impl fmt::Display for ClientCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (name, Some(part), _) => write!(f, "{name}.{part}"),
            (name, None, _) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declares(declared: &str, revision: Revision, capability: ClientCapability) -> bool {
        let all = Object::read(Raw::new_unchecked(declared)).unwrap();
        capability.is_declared(revision, |name| all.get(name).map(Raw::get))
    }

    #[test]
    fn elicitation_without_modes_means_forms() {
        use ClientCapability::{Elicitation, ElicitationUrl};
        use Revision::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
        for (declared, form, url) in [
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
            (r#"{"elicitation":{"later":{}}}"#, true, false),
            (r#"{"elicitation":{"url":null}}"#, true, false),
            ("{}", false, false),
        ] {
            for revision in [V2025_11_25, V2026_07_28] {
                let can = (declares(declared, revision, Elicitation), declares(declared, revision, ElicitationUrl));
                assert_eq!(can, (form, url), "{declared} {revision}");
            }
            let any = declared != "{}";
            assert_eq!(declares(declared, V2025_06_18, Elicitation), any, "2025-06-18 has forms only");
            assert!(!declares(declared, V2025_06_18, ElicitationUrl));
            assert!(!declares(declared, V2025_03_26, Elicitation));
        }
    }

    #[test]
    fn sampling_tools_are_declared_separately() {
        let revision = Revision::V2025_11_25;
        assert!(declares(r#"{"sampling":{}}"#, revision, ClientCapability::Sampling));
        assert!(!declares(r#"{"sampling":{}}"#, revision, ClientCapability::SamplingTools));
        assert!(declares(r#"{"sampling":{"tools":{}}}"#, revision, ClientCapability::SamplingTools));
        assert!(!declares(r#"{"sampling":{"tools":{}}}"#, Revision::V2025_06_18, ClientCapability::SamplingTools));
        assert!(declares(r#"{"sampling":{}}"#, Revision::V2024_11_05, ClientCapability::Sampling));
        assert_eq!(ClientCapability::SamplingTools.required(), json!({"sampling": {"tools": {}}}));
        assert_eq!(ClientCapability::Roots.to_string(), "roots");
    }
}
