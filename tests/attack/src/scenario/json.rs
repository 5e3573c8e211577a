//! Messages that are valid, long, and as much work for a parser as their bytes can be.

use crate::attacker::Attack;
use crate::message::{self, Bytes};

/// What the arguments may take of the longest message.
const ROOM: usize = 4 * 1024 * 1024 - 4096;

/// Numbers, and members whose names all differ.
pub(super) async fn wide(attack: Attack) {
    let numbers = format!("[{}0]", "0,".repeat(ROOM / 2 - 2));
    let members: Vec<String> = (0..ROOM / 12).map(|id| format!("\"{id:07}\":0")).collect();
    let requests = [numbers, format!("{{{}}}", members.join(","))].map(|argument| with_argument(&attack, &argument));
    attack.swarm(8, |attack, index| attack.repeat(index, requests[index % 2].clone(), usize::MAX)).await;
}

/// Towers just below the limit, one beside the other, and one that is far too high.
pub(super) async fn deep(attack: Attack) {
    const HEIGHT: usize = 100;
    let tower = format!("{}{},", "[".repeat(HEIGHT), "]".repeat(HEIGHT));
    let towers = format!("[{}0]", tower.repeat(ROOM / tower.len()));
    let tallest = "[".repeat(ROOM / 2) + &"]".repeat(ROOM / 2);
    let requests = [towers, tallest].map(|argument| with_argument(&attack, &argument));
    attack.swarm(8, |attack, index| attack.repeat(index, requests[index % 2].clone(), usize::MAX)).await;
}

/// A call of `add` with one argument more than it has. The text is put in as it is: building it as a value would be the
/// work that is meant for the server.
fn with_argument(attack: &Attack, argument: &str) -> Bytes {
    const PLACE: &str = "\"here\"";
    let small = serde_json::json!({ "a": 1, "b": 2, "x": "here" });
    let small = message::call(&attack.target, "add", &small);
    let small = String::from_utf8_lossy(&small).into_owned();
    let (head, body) = small.split_once("\r\n\r\n").unwrap_or_default();
    let head = head.rsplit_once("Content-Length: ").unwrap_or_default().0;
    let body = body.replacen(PLACE, argument, 1);
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::with_argument;
    use crate::attacker::Attack;
    use crate::message::answer;
    use crate::options::Size;
    use crate::target::Target;

    #[test]
    fn argument_is_put_in_as_it_is() {
        let attack = Attack::new(Target::local(80), Size::Short, Attack::addresses(true, 1), 1000);
        let request = String::from_utf8(with_argument(&attack, "[[0]]").to_vec()).unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        assert_eq!(answer(body.as_bytes()).unwrap()["params"]["arguments"]["x"][0][0], 0);
    }
}
