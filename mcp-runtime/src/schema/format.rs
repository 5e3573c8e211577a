//! The string formats that are checked: those of JSON Schema that have one reading.
//! <https://json-schema.org/draft/2020-12/json-schema-validation#section-7.3>

/// A format. Others, such as `password`, are annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Date,
    Time,
    DateTime,
    Duration,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Uri,
    UriReference,
    Uuid,
    Regex,
    JsonPointer,
}

/// Each format: its name, and what a string must be, with an example.
const FORMATS: [(Format, &str, &str, &str); 13] = [
    (Format::Date, "date", "a date, like", "2026-07-28"),
    (Format::Time, "time", "a time with its offset, like", "09:30:00Z"),
    (Format::DateTime, "date-time", "a date and time with its offset, like", "2026-07-28T09:30:00Z"),
    (Format::Duration, "duration", "an ISO 8601 duration, like", "PT30M"),
    (Format::Email, "email", "an email address, like", "name@example.com"),
    (Format::Hostname, "hostname", "a host name, like", "www.example.com"),
    (Format::Ipv4, "ipv4", "an IPv4 address, like", "192.0.2.1"),
    (Format::Ipv6, "ipv6", "an IPv6 address, like", "2001:db8::1"),
    (Format::Uri, "uri", "a URI, like", "https://example.com/page"),
    (Format::UriReference, "uri-reference", "a URI or a relative reference, like", "/page?q=1"),
    (Format::Uuid, "uuid", "a UUID, like", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
    (Format::Regex, "regex", "a regular expression, like", "^[a-z]+$"),
    (Format::JsonPointer, "json-pointer", "a JSON pointer, like", "/items/0"),
];

impl Format {
    pub(crate) fn named(name: &str) -> Option<Format> {
        FORMATS.iter().find(|(_, known, ..)| *known == name).map(|(format, ..)| *format)
    }

    fn row(self) -> &'static (Format, &'static str, &'static str, &'static str) {
        // Every format has a row; a test counts them.
        FORMATS.iter().find(|(format, ..)| *format == self).unwrap_or(&FORMATS[0])
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    /// What a string must be, with an example.
    pub(crate) fn describe(self) -> String {
        let (_, _, what, example) = self.row();
        format!("{what} {example}")
    }

    /// A string that has the format.
    pub(crate) fn example(self) -> &'static str {
        self.row().3
    }

    /// Whether a string has the format. The checks are simple: they reject only what is wrong, but accept an
    /// address that does not exist.
    pub(crate) fn fits(self, text: &str) -> bool {
        match self {
            Format::Date => date(text),
            Format::Time => time(text),
            Format::DateTime => text.split_once(['T', 't']).is_some_and(|(day, rest)| date(day) && time(rest)),
            Format::Duration => duration(text),
            Format::Email => email(text),
            Format::Hostname => hostname(text),
            Format::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_ok(),
            Format::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_ok(),
            Format::Uri => text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && uri_rest(rest)),
            Format::UriReference => text.is_empty() || uri_rest(text),
            Format::Uuid => uuid(text),
            Format::Regex => regex_lite::Regex::new(text).is_ok(),
            Format::JsonPointer => json_pointer(text),
        }
    }
}

/// RFC 1123: labels of letters, digits and inner hyphens.
fn hostname(text: &str) -> bool {
    let fits = |part: &str| part.len() <= 63 && part.is_ascii() && label(part);
    !text.is_empty() && text.len() <= 253 && text.split('.').all(fits)
}

/// RFC 4122: 32 hexadecimal digits in groups.
fn uuid(text: &str) -> bool {
    let mut groups = text.split('-');
    let hex = |group: &str, length| group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    [8, 4, 4, 4, 12].iter().all(|length| groups.next().is_some_and(|group| hex(group, *length)))
        && groups.next().is_none()
}

/// RFC 6901: a `~` stands for an escape, `~0` or `~1`.
fn json_pointer(text: &str) -> bool {
    let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escaped
}

/// ISO 8601 as in RFC 3339, appendix A: `P3DT12H`, `P2W`. The units stand in order.
fn duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (days, clock) = match rest.split_once('T') {
        Some((days, clock)) => (days, Some(clock)),
        None => (rest, None),
    };
    let weeks = clock.is_none() && in_order(days, "W") && !days.is_empty();
    let has_part = !days.is_empty() || clock.is_some();
    weeks
        || (has_part && in_order(days, "YMD") && clock.is_none_or(|clock| !clock.is_empty() && in_order(clock, "HMS")))
}

/// Whether `text` consists of whole numbers, each followed by one of `units`, in this order.
fn in_order(mut text: &str, mut units: &str) -> bool {
    while !text.is_empty() {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (Some(unit), true) = (text[digits..].chars().next(), digits > 0) else { return false };
        let Some(at) = units.find(unit) else { return false };
        (text, units) = (&text[digits + 1..], &units[at + 1..]);
    }
    true
}

/// RFC 5321, with the letters of RFC 6531.
fn email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let plain = local.split('.').all(|part| !part.is_empty() && part.chars().all(in_local_part));
    let literal = domain.len() > 2 && domain.starts_with('[') && domain.ends_with(']');
    (quoted || plain) && (literal || domain.split('.').all(label)) && !text.contains(char::is_control)
}

fn in_local_part(c: char) -> bool {
    c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii() && !c.is_whitespace()
}

fn label(label: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c != '-');
    // Letters of other scripts may have marks, which are not alphanumeric.
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || !c.is_ascii() && !c.is_whitespace();
    edge(label.chars().next()) && edge(label.chars().last()) && label.chars().all(inside)
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// RFC 3986: only characters a URI may have.
fn uri_rest(rest: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let escaped = |part: &str| part.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    !rest.is_empty() && rest.chars().all(allowed) && rest.split('%').skip(1).all(escaped)
}

/// RFC 3339, `full-date`.
fn date(text: &str) -> bool {
    let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// RFC 3339, `full-time`.
fn time(text: &str) -> bool {
    let Some(offset_at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, offset) = text.split_at(offset_at);
    let offset_fits = match offset.strip_prefix(['+', '-']) {
        Some(offset) => clock(offset, &[23, 59]),
        None => offset.len() == 1,
    };
    let (time, fraction_fits) = match time.split_once('.') {
        Some((time, fraction)) => (time, !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())),
        None => (time, true),
    };
    // A minute may have a leap second.
    clock(time, &[23, 59, 60]) && fraction_fits && offset_fits
}

/// Two digits for each part, each within its limit.
fn clock(text: &str, limits: &[u32]) -> bool {
    let parts: Vec<_> = text.split(':').collect();
    parts.len() == limits.len()
        && parts.iter().zip(limits).all(|(part, limit)| digits(part, 2).is_some_and(|n| n <= *limit))
}

/// A number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.fits(text), "{text} is {}", format.describe());
        }
        for text in bad {
            assert!(!format.fits(text), "{text} is not {}", format.describe());
        }
    }

    #[test]
    fn examples_have_their_format() {
        for (format, name, ..) in FORMATS {
            assert!(format.fits(format.example()), "{name}");
            assert_eq!((Format::named(name), format.name()), (Some(format), name));
            assert!(!format.fits("\u{1} ~ % ("), "{name}");
        }
    }

    #[test]
    fn other_formats() {
        each(Format::Uuid, &["67E55044-10b1-426f-9247-bb680e5fe0c8"], &["67e5504410b1426f9247bb680e5fe0c8", "x", ""]);
        each(Format::Hostname, &["localhost", "a-b.example"], &["-a.b", "a..b", "a_b", "ü.de", ""]);
        each(Format::Ipv4, &["0.0.0.0"], &["1.2.3", "1.2.3.256", "::1"]);
        each(Format::Ipv6, &["::", "::ffff:1.2.3.4"], &["1.2.3.4", ":::"]);
        each(
            Format::Duration,
            &["P1Y2M3DT4H5M6S", "P2W", "PT1S"],
            &["P", "PT", "1D", "P1S", "P1D1Y", "P1W1D", "PT1.5S"],
        );
        each(Format::Time, &["09:30:00Z", "23:59:60.5+01:00"], &["09:30:00", "24:00:00Z"]);
        each(Format::JsonPointer, &["", "/a~0b/0"], &["a", "/~2"]);
        each(Format::UriReference, &["", "#top", "../x"], &["a b", "%2"]);
    }

    #[test]
    fn email_format() {
        let good =
            ["a@b", "first.last+tag@example.co.uk", "\"odd one\"@example.com", "root@[127.0.0.1]", "jörg@müller.de"];
        let bad = ["", "a", "@b", "a@", "a b@c", "a@b c", "a@-b", "a@b.", "a@.b", ".a@b", "a@b\n", "a..b@c", "a@b@"];
        each(Format::Email, &good, &bad);
    }

    #[test]
    fn uri_format() {
        let good = ["https://example.com/a?b=c#d", "file:///tmp/x", "mailto:a@b", "urn:isbn:1", "http://[::1]/%20"];
        let bad = [
            "",
            "example.com",
            "/path",
            ":x",
            "1http://x",
            "http:",
            "http://a b",
            "http://x/%2",
            "http://x/%zz",
            "x:ü",
        ];
        each(Format::Uri, &good, &bad);
    }

    #[test]
    fn date_format() {
        let good = ["2026-07-28", "2024-02-29", "2000-02-29"];
        let bad =
            ["", "2026-7-28", "2026-13-01", "2026-00-01", "2026-04-31", "2023-02-29", "1900-02-29", "2026-07-28Z"];
        each(Format::Date, &good, &bad);
    }

    #[test]
    fn date_time_format() {
        let good = [
            "2026-07-28T09:30:00Z",
            "2026-07-28t09:30:60.25z",
            "2026-07-28T23:59:59+05:30",
            "2026-07-28T00:00:00-00:00",
        ];
        let bad = [
            "2026-07-28",
            "2026-07-28 09:30:00Z",
            "2026-07-28T09:30:00",
            "2026-07-28T24:00:00Z",
            "2026-07-28T09:30Z",
            "2026-07-28T09:30:00.Z",
            "2026-07-28T09:30:00+5:30",
            "2026-07-28T09:30:00Zz",
            "2026-07-28T09:30:00+24:00",
        ];
        each(Format::DateTime, &good, &bad);
    }
}
