//! The id of a dialogue, made when it is first needed, and ids that are derived from it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest;

use super::Dialogue;
use crate::random;

impl Dialogue {
    /// The id of the dialogue, the same in all of its rounds.
    pub(super) fn try_id(&self) -> std::io::Result<&str> {
        if let Some(id) = self.id.get() {
            return Ok(id);
        }
        let id = random::id()?;
        Ok(self.id.get_or_init(|| id))
    }

    /// Like [`try_id`](Self::try_id), for handlers: a panic ends their call alone.
    pub(in crate::ask) fn id(&self) -> &str {
        self.try_id().unwrap_or_else(|error| panic!("no id for a dialogue: {error}"))
    }

    /// The id of the visit that the ask with this key asks for. It does not give the dialogue's id away: the user
    /// and the page's server see it.
    pub(in crate::ask) fn visit_id(&self, key: &str) -> String {
        self.derived_id("mcp visit", key)
    }

    /// An id for a purpose and a key, the same in all rounds and runs of the call.
    pub(in crate::ask) fn derived_id(&self, purpose: &str, key: &str) -> String {
        let text = format!("{purpose}\0{}\0{key}", self.id());
        BASE64.encode(&digest::digest(&digest::SHA256, text.as_bytes()).as_ref()[..24])
    }
}
