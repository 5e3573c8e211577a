//! Progress of one call: what is worth telling the client.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/utilities/progress>

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::jsonrpc::Id;
use crate::jsonrpc::object::Object;
use crate::jsonrpc::raw::Raw;

/// Reports closer together than this tell nobody anything.
const INTERVAL: Duration = Duration::from_millis(10);

/// The reports of one call.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The JSON text of the token the client recognises them by.
    pub(crate) token: Box<str>,
    last: Mutex<Option<(f64, Instant)>>,
}

impl Progress {
    /// The reports a request asks for in its `_meta`, if it does.
    pub(crate) fn wanted(meta: Raw<'_>) -> Option<Self> {
        let entries = Object::read(meta).ok()?;
        // A token is what an id is: a string or an integer.
        let token = Id::parse(entries.get("progressToken")?.get())?;
        Some(Progress { token: token.as_str().into(), last: Mutex::new(None) })
    }

    /// Whether a report is to be sent: it must say more than the last, and not too soon after it,
    /// unless it is the end.
    pub(crate) fn advances(&self, done: f64, total: Option<f64>) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let worth_it = match *last {
            None => true,
            Some((before, at)) => done > before && (now - at >= INTERVAL || total.is_some_and(|total| done >= total)),
        };
        if worth_it && done.is_finite() {
            *last = Some((done, now));
        }
        worth_it && done.is_finite()
    }
}

/// A number of any type, as an amount of work.
pub trait Amount {
    fn amount(self) -> f64;
}

/// An amount that may be unknown: a number of any type, or an `Option<f64>`. Of one type only, so that a
/// plain `None` needs no annotation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a total",
    label = "a number, `None` or an `Option<f64>`",
    note = "an `Option` of another number: `total.map(|total| total as f64)`"
)]
pub trait Total {
    fn total(self) -> Option<f64>;
}

impl Total for Option<f64> {
    fn total(self) -> Option<f64> {
        self
    }
}

macro_rules! amounts {
    ($($ty:ty)*) => {$(
        impl Amount for $ty {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress needs no more digits")]
            fn amount(self) -> f64 {
                self as f64
            }
        }

        impl Total for $ty {
            fn total(self) -> Option<f64> {
                Some(self.amount())
            }
        }
    )*};
}

amounts! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_more_is_told() {
        let meta = Raw::new_unchecked(r#"{"progressToken":7}"#);
        let progress = Progress::wanted(meta).unwrap();
        assert_eq!(&*progress.token, "7");
        assert!(progress.advances(1.0, Some(10.0)));
        assert!(!progress.advances(1.0, Some(10.0)), "no further");
        assert!(!progress.advances(0.5, Some(10.0)), "backwards");
        assert!(!progress.advances(2.0, Some(10.0)), "too soon");
        assert!(!progress.advances(f64::NAN, None));
        assert!(progress.advances(10.0, Some(10.0)), "the end");
        std::thread::sleep(INTERVAL);
        assert!(progress.advances(11.0, None));
    }

    #[test]
    fn a_token_is_a_string_or_an_integer() {
        let wanted = |meta: &str| Progress::wanted(Raw::new_unchecked(meta)).is_some();
        assert!(wanted(r#"{"progressToken":"p"}"#));
        assert!(!wanted(r#"{"progressToken":1.5}"#));
        assert!(!wanted(r#"{"progressToken":null}"#));
        assert!(!wanted("{}"));
    }
}
