//! Cryptographically secure randomness: ids of sessions and tasks, salts, secrets.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Fills `bytes` from the system's secure random generator.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| io::Error::other("the system's random number generator failed"))
}

/// An unguessable id: 192 random bits in URL-safe base64, which headers and URLs can carry.
pub(crate) fn id() -> io::Result<String> {
    let mut bytes = [0; 24];
    fill(&mut bytes)?;
    Ok(BASE64.encode(bytes))
}
