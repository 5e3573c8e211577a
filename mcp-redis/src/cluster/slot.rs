//! The slot of a key, one of 16,384, by its hash tag.
//! <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model>

/// How many slots a cluster has.
pub(crate) const SLOTS: u16 = 16_384;

/// CRC16-XMODEM of each byte.
const CRC: [u16; 256] = {
    let mut table = [0; 256];
    let (mut byte, mut start) = (0, 0_u16);
    while byte < 256 {
        let mut crc = start << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        (byte, start) = (byte + 1, start + 1);
    }
    table
};

/// The slot of a key.
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let crc = hash_tag(key).iter().fold(0, |crc: u16, byte| {
        let [high, _] = crc.to_be_bytes();
        crc << 8 ^ CRC[usize::from(high ^ byte)]
    });
    crc % SLOTS
}

/// What decides about the slot: the part in the first braces, if they are not empty, or all of it.
fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    let after = &key[open + 1..];
    match after.iter().position(|byte| *byte == b'}') {
        Some(length @ 1..) => &after[..length],
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot_of(b"123456789"), 0x31C3);
        // As `CLUSTER KEYSLOT` says.
        assert_eq!([slot_of(b"foo"), slot_of(b"bar"), slot_of(b"")], [12182, 5061, 0]);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(hash_tag(b"foo{}{bar}"), b"foo{}{bar}");
        assert_eq!(hash_tag(b"foo{{bar}}zap"), b"{bar");
        assert_eq!(hash_tag(b"foo{bar}{zap}"), b"bar");
        assert_eq!(hash_tag(b"foo{bar"), b"foo{bar");
    }
}
