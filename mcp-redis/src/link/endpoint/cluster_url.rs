//! `redis+cluster://` URLs: some nodes of a cluster in one text, as an environment variable has it.

use std::io;

use super::url::{is_empty, with_port};

/// The URLs of nodes in `redis+cluster://user:password@host:port,host:port/`, or in `rediss+cluster://` for TLS. `None`: it
/// is another kind of URL. A cluster has one database.
pub(crate) fn parse(url: &str) -> io::Result<Option<Vec<String>>> {
    let schemes = [("redis+cluster://", "redis"), ("rediss+cluster://", "rediss")];
    let found = schemes.iter().find_map(|(long, scheme)| url.strip_prefix(long).map(|rest| (*scheme, rest)));
    let Some((scheme, rest)) = found else { return Ok(None) };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !matches!(path, "" | "0") || is_empty(hosts) {
        return Err(invalid());
    }
    let at = if user.is_empty() { "" } else { "@" };
    let urls = hosts.split(',').map(|host| format!("{scheme}://{user}{at}{}/", with_port(host, 6379)));
    Ok(Some(urls.collect()))
}

/// Without the text of the URL, which may have a password.
fn invalid() -> io::Error {
    let text = "not the URL of a cluster, such as `redis+cluster://user:password@host:6379,host:6379/`; a cluster has only \
                the database 0";
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_taken_apart() {
        let nodes = |url: &str| parse(url).unwrap().unwrap();
        assert_eq!(nodes("redis+cluster://one:1,two"), ["redis://one:1/", "redis://two:6379/"]);
        assert_eq!(
            nodes("rediss+cluster://user:p@ss@[::1]:1, [::2]/0"),
            ["rediss://user:p@ss@[::1]:1/", "rediss://user:p@ss@[::2]:6379/"]
        );
        assert_eq!(parse("redis://host/").unwrap(), None);
        for wrong in ["redis+cluster://", "redis+cluster://one:1,/", "redis+cluster://one/1", "redis+cluster://user@/"]
        {
            assert!(parse(wrong).unwrap_err().to_string().contains("host:6379,host:6379/"), "{wrong}");
        }
    }
}
