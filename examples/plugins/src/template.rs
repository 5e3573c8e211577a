//! Texts with blanks: `Hello {name}`.

use serde_json::{Map, Value};

/// A text with blanks. `{{` and `}}` are plain braces.
#[derive(Debug)]
pub struct Template(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    Blank(String),
}

impl Template {
    /// Reads a template, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            parts.push(Part::Text(before.to_owned()));
            if brace.starts_with("{{") || brace.starts_with("}}") {
                parts.push(Part::Text(brace[..1].to_owned()));
                rest = &brace[2..];
            } else if let Some((name, after)) = brace.strip_prefix('{').and_then(|blank| blank.split_once('}')) {
                parts.push(Part::Blank(name.to_owned()));
                rest = after;
            } else {
                return Err(format!("`{}` has no partner: write it twice for a plain brace", &brace[..1]));
            }
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Template(parts))
    }

    /// The names of the blanks.
    pub fn blanks(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Blank(name) => Some(&**name),
            Part::Text(_) => None,
        })
    }

    /// Fills the blanks. Those without a value stay empty.
    pub fn fill(&self, values: &Map<String, Value>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Blank(name) => match values.get(name) {
                None => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            },
        };
        self.0.iter().map(part).collect()
    }
}
