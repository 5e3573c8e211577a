//! Asking the user to visit a page: URLs that clients may open, and the id of a visit.
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde_json::json;

use super::error::Visit;
use super::future::Ask;
use super::question::{action, rejection};
use super::{AskError, ClientCapability, Unsupported};
use crate::call::context::Context;
use crate::call::notifier::Notifier;
use crate::era::encode::notification;
use crate::jsonrpc::error::shorten;
use crate::outcome::Question;
use crate::protocol::Revision;

impl Context {
    /// Asks the user to visit a page: to sign in, to pay, or to enter a secret, which a form must not ask for.
    ///
    /// The URL begins with `https://`, or with `http://` and a loopback host, for development. Another one is an
    /// [`AskError::Misused`].
    ///
    /// The answer means that the user agreed to visit the page, not that they have done so. Call
    /// [`UrlElicitation::complete`] when they have. To let the page say which visit it is about, see
    /// [`elicit_url_with`](Self::elicit_url_with).
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Connect the user's calendar.
    /// #[tool]
    /// async fn connect_calendar(ctx: &Context) -> Result<String> {
    ///     let page = ctx.elicit_url("Please sign in.", "https://example.com/sign-in").await?;
    ///     // Wait until the page was visited, then:
    ///     page.complete().await;
    ///     Ok("connected".to_owned())
    /// }
    /// ```
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Ask<UrlElicitation> {
        let url = url.into();
        self.elicit_url_with(message, move |_| url)
    }

    /// Like [`elicit_url`](Self::elicit_url), with a URL that contains the id of the visit. The page's server hands
    /// the id back when the user is done, and the handler finds it as [`UrlElicitation::id`].
    ///
    /// The id is unguessable, differs between asks, and is the same in all rounds of a call and on all replicas.
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// # async fn paid(visit: &str) -> Result<()> { Ok(()) }
    ///
    /// /// Pay a deposit.
    /// #[tool]
    /// async fn deposit(ctx: &Context) -> Result<&'static str> {
    ///     let page = ctx.elicit_url_with("Please pay.", |visit| format!("https://pay.example.com/?visit={visit}")).await?;
    ///     paid(page.id()).await?; // the payment service has called back for this visit
    ///     page.complete().await;
    ///     Ok("paid")
    /// }
    /// ```
    pub fn elicit_url_with(
        &self,
        message: impl Into<String>,
        url: impl FnOnce(&str) -> String + Send + 'static,
    ) -> Ask<UrlElicitation> {
        let (message, asking, asked) = (message.into(), self.clone(), self.clone());
        let question = move |key: &str| {
            let id = asking.dialogue.visit_id(key);
            asking.visit(&message, &url(&id), &id)
        };
        Ask::new(&self.dialogue, question, move |key, answer| match action(&answer)? {
            "accept" => Ok(UrlElicitation::new(&asked, asked.dialogue.visit_id(key))),
            other => Err(rejection(other)),
        })
    }

    fn visit(&self, message: &str, url: &str, id: &str) -> Result<Question, AskError> {
        check(url).map_err(AskError::Misused)?;
        let declared = self.needs(ClientCapability::ElicitationUrl);
        let reachable = self.dialogue.reachable().map_err(|why| AskError::Unsupported(Unsupported::here(why)));
        let sends_error = self.revision().has_url_required_error() && reachable.is_err();
        if let Err(AskError::Unsupported(mut unsupported)) = declared.and(reachable) {
            // A user who reads the error can still visit the page.
            unsupported.text = format!("{}. {message} {url}", unsupported.text);
            // A client that accepts no requests accepts this error.
            unsupported.visit =
                sends_error.then(|| Visit { message: message.to_owned(), url: url.to_owned(), id: id.to_owned() });
            return Err(AskError::Unsupported(unsupported));
        }
        let mut params = json!({"mode": "url", "message": message, "url": url});
        if self.revision().has_elicitation_ids() {
            params["elicitationId"] = json!(id);
        }
        Ok(Question { method: Question::ELICIT, params })
    }
}

/// The user's consent to visit a page, from [`Context::elicit_url`].
#[derive(Debug, Clone)]
pub struct UrlElicitation {
    id: String,
    notifier: Arc<Notifier>,
    revision: Revision,
}

impl UrlElicitation {
    fn new(context: &Context, id: String) -> Self {
        UrlElicitation { id, notifier: Arc::clone(&context.notifier), revision: context.revision() }
    }

    /// The id of the visit, as [`Context::elicit_url_with`] puts it into the URL. In 2025-11-25, it is the
    /// `elicitationId` as well.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Notifies the client that the user is done with the page. Only 2025-11-25 has a notification for that;
    /// with other revisions, nothing happens.
    pub async fn complete(&self) {
        if self.revision.has_elicitation_ids() {
            self.notifier.send(notification::elicitation_complete(&self.id)).await;
        }
    }
}

/// Checks that a client can open the URL safely: a client may hand it to a browser as it is, so it must not be a
/// script or a file, nor travel in the clear. Says what to write instead.
fn check(url: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        let url = shorten(url);
        Err(format!(
            "`elicit_url` cannot send the user to `{url}`: {why}; write `https://host/path`, or `http://localhost/path` during development"
        ))
    };
    // Browsers read a backslash as a slash, and skip control characters.
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return wrong("it has whitespace, control characters or backslashes, which have to be percent-encoded");
    }
    let Some((scheme, rest)) = url.split_once("://") else { return wrong("it is not a URL with a host") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host(authority.rsplit('@').next().unwrap_or_default());
    match scheme.to_ascii_lowercase().as_str() {
        "https" | "http" if host.is_empty() => wrong("it has no host"),
        "https" => Ok(()),
        "http" if is_loopback(host) => Ok(()),
        "http" => wrong("`http` is not encrypted"),
        _ => wrong("its scheme is not `https`"),
    }
}

/// The host of an authority without user information.
fn host(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_encrypted_or_on_this_machine() {
        for url in [
            "https://example.com",
            "HTTPS://example.com/a?b=c#d",
            "https://example.com:8443/",
            "http://localhost:8080/done",
            "http://127.0.0.1/",
            "http://127.9.9.9:1/",
            "http://[::1]:3000/",
            "http://LOCALHOST?x",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for (url, why) in [
            ("javascript://example.com/%0aalert(1)", "its scheme"),
            ("javascript:alert(1)", "not a URL"),
            ("data:text/html,x", "not a URL"),
            ("file:///etc/passwd", "its scheme"),
            ("ftp://example.com/", "its scheme"),
            ("vscode://example.com", "its scheme"),
            ("http://example.com/", "not encrypted"),
            ("http://localhost.example.com/", "not encrypted"),
            ("http://localhost@example.com/", "not encrypted"),
            ("http://127.0.0.1.example.com/", "not encrypted"),
            ("http://0.0.0.0/", "not encrypted"),
            ("http://localhost\\@example.com/", "percent-encoded"),
            ("https://exa mple.com", "percent-encoded"),
            ("https://example.com/\n", "percent-encoded"),
            ("https://", "no host"),
            ("https:///path", "no host"),
            ("https://:443/", "no host"),
            ("http://user@/", "no host"),
            ("example.com", "not a URL"),
            ("", "not a URL"),
        ] {
            let error = check(url).unwrap_err();
            assert!(error.contains(why) && error.contains("write `https://host/path`"), "{url}: {error}");
        }
    }
}
