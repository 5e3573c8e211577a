//! What nobody can guess: ids of sessions and tasks, salts, secrets.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Fills `bytes` with what nobody can guess.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| io::Error::other("the system has no randomness"))
}

/// An id nobody can guess: 192 bits, in characters a header and a URL can have.
pub(crate) fn id() -> io::Result<String> {
    let mut bytes = [0; 24];
    fill(&mut bytes)?;
    Ok(BASE64.encode(bytes))
}
