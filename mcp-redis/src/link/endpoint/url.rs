//! What URLs of several hosts have in common.

/// Whether one of the hosts is missing.
pub(super) fn is_empty(hosts: &str) -> bool {
    hosts.split(',').any(|host| host.trim().is_empty())
}

/// A host, with this port if it has none. An IPv6 address in brackets has colons of its own.
pub(super) fn with_port(host: &str, default: u16) -> String {
    let host = host.trim();
    let has_port = host.rsplit_once(']').map_or(host, |(_, after)| after).contains(':');
    if has_port { host.to_owned() } else { format!("{host}:{default}") }
}
