//! Finds the process that holds an address, from `/proc` on Linux. Elsewhere it stays unknown.

#[cfg(target_os = "linux")]
use std::fs;
use std::net::SocketAddr;
#[cfg(any(target_os = "linux", test))]
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A process that listens on an address.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "it is found on Linux only"))]
pub(super) struct Holder {
    pub(super) id: u32,
    pub(super) name: String,
}

/// The process that listens on this address, or on one that overlaps with it. `None` if that cannot be told: it may
/// belong to another user, or run in another container.
#[cfg(target_os = "linux")]
pub(super) fn of(address: SocketAddr) -> Option<Holder> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines());
    let held = lines.filter_map(listening).filter(|(held, _)| overlap(address, *held));
    let sockets: Vec<String> = held.map(|(_, inode)| format!("socket:[{inode}]")).collect();
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let process = entry.path();
        let id = process.file_name()?.to_str()?.parse().ok()?;
        let mut open =
            fs::read_dir(process.join("fd")).ok()?.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        if !open.any(|file| sockets.iter().any(|socket| file.as_os_str() == &**socket)) {
            return None;
        }
        let name = fs::read_to_string(process.join("comm")).ok()?;
        Some(Holder { id, name: name.trim().to_owned() })
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of(_: SocketAddr) -> Option<Holder> {
    None
}

/// The address and the inode of a listening socket, from a line of `/proc/net/tcp` or `tcp6`.
#[cfg(any(target_os = "linux", test))]
fn listening(line: &str) -> Option<(SocketAddr, &str)> {
    /// The state of a listening socket, as in the kernel's `tcp_states.h`.
    const LISTEN: &str = "0A";

    let mut columns = line.split_ascii_whitespace();
    let (local, state) = (columns.nth(1)?, columns.nth(1)?);
    let inode = columns.nth(5)?;
    let (ip, port) = local.split_once(':')?;
    let socket = SocketAddr::new(address(ip)?, u16::from_str_radix(port, 16).ok()?);
    (state == LISTEN).then_some((socket, inode))
}

/// An address as the kernel prints it: words of four bytes, each a number in the byte order of the machine.
#[cfg(any(target_os = "linux", test))]
fn address(words: &str) -> Option<IpAddr> {
    let bytes = (0..words.len()).step_by(8).map(|at| u32::from_str_radix(words.get(at..at + 8)?, 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<Vec<_>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let v4 = || <[u8; 4]>::try_from(&bytes[..]).map(|bytes| Ipv4Addr::from(bytes).into());
    v4().ok().or_else(|| <[u8; 16]>::try_from(&bytes[..]).map(|bytes| Ipv6Addr::from(bytes).to_canonical()).ok())
}

/// Whether no two sockets can listen on both. The wildcard of IPv6 includes IPv4, unless a socket option says otherwise.
#[cfg(any(target_os = "linux", test))]
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let covers = |wildcard: IpAddr, ip: IpAddr| wildcard.is_unspecified() && (wildcard.is_ipv6() || ip.is_ipv4());
    one.port() == other.port() && (a == b || covers(a, b) || covers(b, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn listening_sockets_are_read_from_the_tables_of_the_kernel() {
        let rest = "00000000:00000000 00:00000000 00000000  1000        0 66107 1 0000000000000000 100 0 0 10 0";
        for (line, expected) in [
            (format!("   0: 0100007F:1F90 00000000:0000 0A {rest}"), Some("127.0.0.1:8080")),
            (format!("   0: 00000000:1F90 00000000:0000 0A {rest}"), Some("0.0.0.0:8080")),
            (
                format!("   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A {rest}"),
                Some("[::1]:8080"),
            ),
            (
                format!("   0: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A {rest}"),
                Some("127.0.0.1:8080"),
            ),
            (format!("   0: 0100007F:1F90 0100007F:D2F0 01 {rest}"), None),
            ("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(listening(&line), expected.map(|text| (socket(text), "66107")), "{line}");
        }
    }

    #[test]
    fn wildcards_overlap_with_the_addresses_they_include() {
        for (one, other, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:80", "0.0.0.0:80", true),
            ("127.0.0.1:80", "[::]:80", true),
            ("[::1]:80", "[::]:80", true),
            ("[::1]:80", "0.0.0.0:80", false),
        ] {
            assert_eq!(overlap(socket(one), socket(other)), expected, "{one} {other}");
            assert_eq!(overlap(socket(other), socket(one)), expected, "{other} {one}");
        }
    }
}
