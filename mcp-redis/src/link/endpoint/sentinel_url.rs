//! `redis+sentinel://` URLs: the Sentinels and the name of the primary in one text, as an environment variable has it.

use std::io;

use super::url::{is_empty, with_port};

/// What such a URL begins with.
const SCHEME: &str = "redis+sentinel://";
const DEFAULT_PORT: u16 = 26379;

/// A URL, and the URLs of the Sentinels that know its server. The host is the name of the primary, then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) url: String,
    pub(crate) sentinels: Vec<String>,
}

/// Takes `redis+sentinel://user:password@host:port,host:port/name/database` apart; user and password are those of the
/// server, not of the Sentinels. `None`: it is an ordinary URL.
pub(crate) fn parse(url: &str) -> io::Result<Option<Named>> {
    let Some(rest) = url.strip_prefix(SCHEME) else { return Ok(None) };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    if name.is_empty() || is_empty(hosts) {
        return Err(invalid());
    }
    let at = if user.is_empty() { "" } else { "@" };
    let sentinels = hosts.split(',').map(|host| format!("redis://{}/", with_port(host, DEFAULT_PORT)));
    Ok(Some(Named { url: format!("redis://{user}{at}{name}/{database}"), sentinels: sentinels.collect() }))
}

/// Without the text of the URL, which may have a password.
fn invalid() -> io::Error {
    let text = "not the URL of a server behind Sentinels, such as \
                `redis+sentinel://user:password@host:26379,host:26379/mymaster/0`";
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinels_and_the_name_are_taken_apart() {
        let named = |url: &str| parse(url).unwrap().unwrap();
        let plain = named("redis+sentinel://one:1,two/mymaster");
        assert_eq!(
            (plain.url.as_str(), &plain.sentinels[..]),
            ("redis://mymaster/", &["redis://one:1/".to_owned(), "redis://two:26379/".to_owned()][..])
        );
        let full = named("redis+sentinel://user:p@ss@[::1]:1, [::2]/notes/3");
        assert_eq!(
            (full.url.as_str(), &full.sentinels[..]),
            ("redis://user:p@ss@notes/3", &["redis://[::1]:1/".to_owned(), "redis://[::2]:26379/".to_owned()][..])
        );
        assert_eq!(parse("redis://host/").unwrap(), None);
        for wrong in ["redis+sentinel://", "redis+sentinel://host:1", "redis+sentinel:///name", "redis+sentinel://a,/n"]
        {
            assert!(parse(wrong).unwrap_err().to_string().contains("host:26379/mymaster"), "{wrong}");
        }
    }
}
