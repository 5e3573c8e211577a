//! [`Configured`]: what an [`Auth`] says about a deployment that cannot be seen from the outside.

use std::sync::Arc;

use super::report::{Check, Report};
use crate::auth::fetch::https::HttpsFetcher;
use crate::auth::issued::introspect::{ClientCredentials, Introspection};
use crate::auth::issued::settings::{Asked, How, IssuedSettings};
use crate::auth::jose::audience::Audience;
use crate::auth::{Auth, Source, scope};

/// What is known beforehand; nothing, if there is only a URL.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Configured {
    mistakes: Vec<String>,
    /// Whether the server is known to be one of ours.
    pub(super) is_ours: bool,
    pub(super) is_optional: bool,
    /// Whether some callers have tokens that no authorization server issues.
    pub(super) has_given_tokens: bool,
    pub(super) serves_issuer_metadata: bool,
    /// The URLs of keys, by issuer.
    keys: Vec<(String, String)>,
    introspections: Vec<Introspection>,
}

impl Configured {
    pub(super) fn of(auth: &Auth) -> Self {
        let mut configured = Configured {
            is_ours: true,
            is_optional: auth.optional,
            serves_issuer_metadata: auth.serves_issuer_metadata,
            ..Configured::default()
        };
        configured.add(auth);
        configured
    }

    fn add(&mut self, auth: &Auth) {
        self.mistakes.extend(auth.mistakes.iter().cloned());
        self.mistakes.extend(auth.scopes.iter().filter_map(|scope| scope::check(scope).err()));
        match &auth.source {
            Source::Bearer(_) => self.has_given_tokens = true,
            Source::AnyOf(all) => all.iter().for_each(|one| self.add(one)),
            Source::Issued(settings) => self.add_issued(settings),
            Source::Local(_) => {
                self.mistakes.push("`Auth::local` is for stdio, and verifies no token".to_owned());
            }
            Source::Function(_) => {}
        }
    }

    fn add_issued(&mut self, settings: &IssuedSettings) {
        match &settings.how {
            How::Published { url: Some(url) } => {
                self.keys.extend(settings.issuer.clone().map(|issuer| (issuer, url.clone())));
            }
            How::Asked(asked) => match introspection(settings, asked) {
                Ok(introspection) => self.introspections.push(introspection),
                Err(mistake) => self.mistakes.push(mistake),
            },
            How::Published { url: None } | How::Given(_) => {}
        }
    }

    /// Where the keys of an issuer are, if not where its metadata says.
    pub(super) fn keys_of(&self, issuer: &str) -> Option<&str> {
        self.keys.iter().find(|(known, _)| known == issuer).map(|(_, url)| &**url)
    }

    pub(super) fn tell_mistakes(&self, report: &mut Report) {
        for mistake in &self.mistakes {
            report.fail(Check::Configuration, mistake.as_str(), "correct it: a server with it is not served");
        }
    }

    /// Asks the introspection endpoints, with the server's own client and credentials.
    pub(super) async fn ask_introspection(&self, report: &mut Report) {
        for introspection in &self.introspections {
            match introspection.answers().await {
                Ok(()) => report.ok(Check::Introspection, "the endpoint answers"),
                Err(why) => report.fail(
                    Check::Introspection,
                    format!("the endpoint does not answer about tokens: {why}"),
                    "check its URL, and that id and secret may introspect there; tokens are answered 503 meanwhile",
                ),
            }
        }
    }
}

fn introspection(settings: &IssuedSettings, asked: &Asked) -> Result<Introspection, String> {
    let secret = asked.secret.0.as_deref().map_err(Clone::clone)?.into();
    let id = asked.id.as_str().into();
    let client =
        if asked.is_posted { ClientCredentials::Post { id, secret } } else { ClientCredentials::Basic { id, secret } };
    let fetch = settings.fetch.clone().unwrap_or_else(|| Arc::new(HttpsFetcher::new()));
    Ok(Introspection::new(asked.url.as_str(), client, None, Audience::new(Vec::<String>::new()), fetch))
}
