//! The string formats that a form can ask for.

/// The four formats of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    pub(super) fn named(name: &str) -> Option<Format> {
        [Format::Email, Format::Uri, Format::Date, Format::DateTime].into_iter().find(|format| format.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Email => "email",
            Format::Uri => "uri",
            Format::Date => "date",
            Format::DateTime => "date-time",
        }
    }

    /// What a string must be, with an example.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Format::Email => "an email address, like name@example.com",
            Format::Uri => "a URI, like https://example.com/page",
            Format::Date => "a date, like 2026-07-28",
            Format::DateTime => "a date and time with its offset, like 2026-07-28T09:30:00Z",
        }
    }

    /// Whether a string has the format. The checks are simple: they reject only what is wrong, but accept an
    /// address that does not exist.
    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Format::Email => email(text),
            Format::Uri => uri(text),
            Format::Date => date(text),
            Format::DateTime => date_time(text),
        }
    }
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

/// RFC 3986: a scheme, and after it only characters a URI may have.
fn uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let escaped = |part: &str| part.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    scheme_fits && !rest.is_empty() && rest.chars().all(allowed) && rest.split('%').skip(1).all(escaped)
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

/// RFC 3339, `date-time`.
fn date_time(text: &str) -> bool {
    let Some((day, time)) = text.split_once(['T', 't']) else { return false };
    let Some(offset_at) = time.find(['Z', 'z', '+', '-']) else { return false };
    let (time, offset) = time.split_at(offset_at);
    let offset_fits = match offset.strip_prefix(['+', '-']) {
        Some(offset) => clock(offset, &[23, 59]),
        None => offset.len() == 1,
    };
    let (time, fraction_fits) = match time.split_once('.') {
        Some((time, fraction)) => (time, !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())),
        None => (time, true),
    };
    // A minute may have a leap second.
    date(day) && clock(time, &[23, 59, 60]) && fraction_fits && offset_fits
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
