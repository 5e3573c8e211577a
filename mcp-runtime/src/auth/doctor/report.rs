//! [`Diagnosis`]: what was found out about a deployment, finding by finding.

use std::fmt;

/// What a [`Doctor`](super::Doctor) found out about a deployment.
///
/// It prints as a table, each finding with what to do next:
///
/// ```text
/// https://mcp.example.com/mcp
///
/// ok       challenge            401, with a Bearer challenge
/// failure  document-resource    `resource` is "https://mcp.example.com/mcp/", not the URL byte for byte: …
///                               → set `.resource("https://mcp.example.com/mcp")`, …
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The URL that was examined.
    pub resource: String,
    /// In the order in which a client goes.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Whether clients can connect: there is no failure. Warnings are allowed.
    pub fn is_healthy(&self) -> bool {
        !self.findings.iter().any(|finding| finding.status == Status::Failure)
    }

    /// How many checks ended like this.
    pub fn count(&self, status: Status) -> usize {
        self.findings.iter().filter(|finding| finding.status == status).count()
    }
}

/// The table.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.resource)?;
        for Finding { check, status, seen, remedy } in &self.findings {
            writeln!(f, "{:<7}  {:<19}  {seen}", status.as_str(), check.as_str())?;
            if let Some(remedy) = remedy {
                writeln!(f, "{:30}→ {remedy}", "")?;
            }
        }
        let (failures, warnings) = (self.count(Status::Failure), self.count(Status::Warning));
        write!(f, "\n{} checks, {failures} failed, {warnings} with a warning", self.findings.len())
    }
}

/// One check, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// Whether the deployment passed, and how much it matters if not.
    pub status: Status,
    /// What the deployment has or answered, in words.
    pub seen: String,
    /// What to do next, if something is to be done.
    pub remedy: Option<String>,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The deployment passed.
    Ok,
    /// Some clients may fail, others connect.
    Warning,
    /// Clients cannot connect, or tokens are not safe.
    Failure,
    /// It was not checked; `seen` says why.
    Skipped,
}

impl Status {
    /// Its name, as `--json` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warning => "warning",
            Status::Failure => "failure",
            Status::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! checks {
    ($($(#[$about:meta])* $check:ident = $name:literal,)*) => {
        /// One of the checks of a [`Diagnosis`]: a step of a client on its way to an authorized call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Check {
            $($(#[$about])* $check,)*
        }

        impl Check {
            /// Its name, in tables and in `--json`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Check::$check => $name,)*
                }
            }
        }
    };
}

checks! {
    /// The [`Auth`](crate::auth::Auth) itself, if there is one.
    Configuration = "configuration",
    /// The URL can be typed into a client.
    Url = "url",
    /// A request without a token is answered 401, with a challenge.
    Challenge = "challenge",
    /// The challenge names the document about the resource.
    ChallengeDocument = "challenge-document",
    /// The challenge says which scopes to ask for.
    ChallengeScope = "challenge-scope",
    /// A token that is invalid is answered 401 `invalid_token`.
    InvalidToken = "invalid-token",
    /// A token in the URL is refused.
    TokenInUrl = "token-in-url",
    /// The clocks of the server and of the authorization servers agree with this one.
    Clock = "clock",
    /// The document is where clients look for it.
    Document = "document",
    /// The document names the URL, byte for byte.
    DocumentResource = "document-resource",
    /// Pages of other origins may read the document.
    DocumentCors = "document-cors",
    /// The document says which scopes to begin with.
    DocumentScopes = "document-scopes",
    /// The document names an authorization server.
    DocumentIssuers = "document-issuers",
    /// An authorization server has metadata, which names it.
    IssuerMetadata = "issuer-metadata",
    /// It has an authorization endpoint and a token endpoint.
    IssuerEndpoints = "issuer-endpoints",
    /// It supports PKCE with S256, without which clients refuse it.
    IssuerPkce = "issuer-pkce",
    /// Clients can register there.
    IssuerRegistration = "issuer-registration",
    /// It knows the scopes that the server needs.
    IssuerScopes = "issuer-scopes",
    /// It publishes keys that can be used.
    IssuerKeys = "issuer-keys",
    /// A token that nobody has signed is refused, after the server has got the keys of its issuer.
    ForgedToken = "forged-token",
    /// The introspection endpoint answers, if there is one.
    Introspection = "introspection",
    /// Clients of 2025-03-26 find the authorization server.
    LegacyDiscovery = "legacy-discovery",
    /// A token that was given is accepted.
    Token = "token",
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
}

impl Report {
    pub(super) fn ok(&mut self, check: Check, seen: impl Into<String>) {
        self.add(check, Status::Ok, seen.into(), None);
    }

    pub(super) fn skip(&mut self, check: Check, why: impl Into<String>) {
        self.add(check, Status::Skipped, why.into(), None);
    }

    pub(super) fn warn(&mut self, check: Check, seen: impl Into<String>, remedy: impl Into<String>) {
        self.add(check, Status::Warning, seen.into(), Some(remedy.into()));
    }

    pub(super) fn fail(&mut self, check: Check, seen: impl Into<String>, remedy: impl Into<String>) {
        self.add(check, Status::Failure, seen.into(), Some(remedy.into()));
    }

    pub(super) fn add(&mut self, check: Check, status: Status, seen: String, remedy: Option<String>) {
        self.findings.push(Finding { check, status, seen, remedy });
    }

    /// Without a secret, which a server may have repeated.
    pub(super) fn finish(mut self, resource: String, secret: Option<&str>) -> Diagnosis {
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            let texts = self.findings.iter_mut().flat_map(|finding| [Some(&mut finding.seen), finding.remedy.as_mut()]);
            for text in texts.flatten() {
                redact(text, secret);
            }
        }
        Diagnosis { resource, findings: self.findings }
    }
}

/// Replaces a secret in a text, also where only its beginning was quoted.
fn redact(text: &mut String, secret: &str) {
    const BEGINNING: usize = 16;
    let beginning = secret.get(..BEGINNING).unwrap_or(secret);
    while let Some(at) = text.find(beginning) {
        let quoted = text[at..].char_indices().zip(secret.chars());
        let end = quoted.take_while(|((_, one), other)| one == other).last();
        let end = end.map_or(at + beginning.len(), |((from, last), _)| at + from + last.len_utf8());
        text.replace_range(at..end, "(the token)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_redacted_even_if_it_was_cut_off() {
        let secret = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
        for (text, redacted) in [
            (format!("said {secret:?}, {secret}"), "said \"(the token)\", (the token)"),
            (format!("said {:?} …", &secret[..40]), "said \"(the token)\" …"),
            ("said eyJhbGci".to_owned(), "said eyJhbGci"),
        ] {
            let mut text = text;
            redact(&mut text, secret);
            assert_eq!(text, redacted);
        }
        let mut short = "pin 1234".to_owned();
        redact(&mut short, "1234");
        assert_eq!(short, "pin (the token)");
    }
}
