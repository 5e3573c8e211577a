//! Which node has which slots, as `CLUSTER SLOTS` says.
//! <https://redis.io/docs/latest/commands/cluster-slots/>

use redis::Value;

use super::slot::SLOTS;
use crate::link::endpoint::seeds::Address;

/// The slots from `first` to `last`, and the primary that has them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: Address,
}

/// The ranges in a reply, in order. A node that does not know its own host is at the one that was `asked`.
pub(super) fn parse(reply: Value, asked: &str) -> Option<Vec<Range>> {
    let Value::Array(entries) = reply else { return None };
    let mut ranges = entries.into_iter().map(|entry| range(entry, asked)).collect::<Option<Vec<_>>>()?;
    ranges.sort_by_key(|range| range.first);
    Some(ranges)
}

fn range(entry: Value, asked: &str) -> Option<Range> {
    let Value::Array(fields) = entry else { return None };
    let mut fields = fields.into_iter();
    let (Some(Value::Int(first)), Some(Value::Int(last)), Some(Value::Array(primary))) =
        (fields.next(), fields.next(), fields.next())
    else {
        return None;
    };
    let (first, last) = (u16::try_from(first).ok()?, u16::try_from(last).ok()?);
    let mut primary = primary.into_iter();
    let (host, Some(Value::Int(port))) = (primary.next()?, primary.next()) else { return None };
    let host = match host {
        Value::BulkString(host) => String::from_utf8(host).ok().filter(|host| !host.is_empty() && host != "?"),
        Value::SimpleString(host) => Some(host),
        _ => None,
    };
    let host = host.unwrap_or_else(|| asked.to_owned());
    let is_valid = first <= last && last < SLOTS;
    is_valid.then_some(Range { first, last, primary: Address { host, port: u16::try_from(port).ok()? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(first: i64, last: i64, host: Value, port: i64) -> Value {
        let id = Value::BulkString(b"some id".to_vec());
        let node = |host, port| Value::Array(vec![host, Value::Int(port), id.clone(), Value::Array(Vec::new())]);
        let replica = node(Value::BulkString(b"replica".to_vec()), 9);
        Value::Array(vec![Value::Int(first), Value::Int(last), node(host, port), replica])
    }

    #[test]
    fn ranges_are_in_order_and_have_a_host() {
        let host = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let reply = [entry(8192, 16383, host("two"), 2), entry(0, 8190, host(""), 1), entry(8191, 8191, Value::Nil, 3)];
        let range = |first, last, host: &str, port| Range { first, last, primary: Address { host: host.into(), port } };
        let expected = [range(0, 8190, "seed", 1), range(8191, 8191, "seed", 3), range(8192, 16383, "two", 2)];
        assert_eq!(parse(Value::Array(reply.to_vec()), "seed").unwrap(), expected);
        assert_eq!(parse(Value::Array(Vec::new()), "seed"), Some(Vec::new()));
        for wrong in [Value::Nil, Value::Array(vec![Value::Int(1)])] {
            assert_eq!(parse(wrong, "seed"), None);
        }
        for (first, last, port) in [(0, 16384, 1), (-1, 1, 1), (2, 1, 1), (0, 1, 70_000)] {
            assert_eq!(parse(Value::Array(vec![entry(first, last, host("one"), port)]), "seed"), None);
        }
    }
}
