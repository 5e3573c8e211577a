//! The `Date` of a response, by which clocks are compared (RFC 9110 §5.6.7).

/// Seconds since 1970 of a date as servers must write it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn parse(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.strip_suffix(" GMT")?.split([' ', ':']);
    let number = |name: Option<&str>| name?.parse::<u64>().ok();
    let day = number(parts.next()).filter(|day| (1..=31).contains(day))?;
    let name = parts.next()?;
    let month = 1 + MONTHS.iter().position(|month| *month == name)? as u64;
    let year = number(parts.next()).filter(|year| (1970..=9999).contains(year))?;
    let time = [number(parts.next())?, number(parts.next())?, number(parts.next())?];
    let ([hours, minutes, seconds], None) = (time, parts.next()) else { return None };
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some(((days(year, month) + day - 1) * 24 + hours) * 3600 + minutes * 60 + seconds)
}

/// The days from 1970 to the first of a month.
fn days(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_years = |last: u64| last / 4 - last / 100 + last / 400;
    let is_leap = leap_years(year) > leap_years(year - 1);
    let before = usize::try_from(month - 1).ok().and_then(|month| BEFORE.get(month)).copied().unwrap_or_default();
    (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969) + before + u64::from(is_leap && month > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Wed, 01 Mar 2028 00:00:00 GMT", 1_835_481_600),
            ("Thu, 31 Dec 2099 23:59:59 GMT", 4_102_444_799),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for other in ["", "now", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 0 08:49:37 GMT"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
