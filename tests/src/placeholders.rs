//! Placeholders for values that differ in every conversation, such as ids, states and times.

/// Members with unpredictable values.
const MEMBERS: [&str; 3] = ["requestState", "taskId", "elicitationId"];
/// Members with times.
const TIMES: [&str; 2] = ["createdAt", "lastUpdatedAt"];

/// The values of a conversation with their placeholders, in order of appearance.
#[derive(Debug, Default)]
pub struct Placeholders(Vec<(String, String)>);

impl Placeholders {
    /// A line of the server's, with placeholders for values.
    pub fn in_place_of_values(&mut self, line: &str) -> String {
        for member in MEMBERS {
            for value in values(line, member) {
                // Short values are the client's own, and predictable.
                if value.len() >= 16 && self.0.iter().all(|(_, known)| *known != value) {
                    let number = self.0.iter().filter(|(name, _)| name.contains(member)).count() + 1;
                    self.0.push((format!("«{member}-{number}»"), value));
                }
            }
        }
        let mut line = self.0.iter().fold(line.to_owned(), |line, (name, value)| line.replace(value, name));
        for member in TIMES {
            for value in values(&line, member) {
                line = line.replace(&value, "«time»");
            }
        }
        line
    }

    /// A line of the client's, with values for placeholders.
    pub fn values_in(&self, line: &str) -> String {
        self.0.iter().fold(line.to_owned(), |line, (name, value)| line.replace(name, value))
    }
}

/// The texts a member has in a line.
fn values(line: &str, member: &str) -> Vec<String> {
    let begins = format!("\"{member}\":\"");
    line.split(&begins).skip(1).filter_map(|rest| rest.split_once('"')).map(|(value, _)| value.to_owned()).collect()
}
