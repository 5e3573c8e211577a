//! The server's questions, asked in the terminal: forms field by field, pages to visit, messages for a model.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};

use serde_json::{Map, Value};

use super::error::CliError;
use super::show::schema::{choices, type_text, types};
use super::show::text::clean;
use super::terminal::{Terminal, say};
use super::values;
use crate::client::{ElicitReply, ElicitRequest, TestClientBuilder};
use crate::schema::instance::Instance;
use crate::schema::validator::{Problem, Validator};

/// Answers the server's questions: with the answers of the command line, or with those of the person.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    answers: Vec<String>,
    terminal: Terminal,
    /// Whether somebody sits at a terminal. Other standard input is for `key=@-`, or nobody's.
    has_person: bool,
}

/// The person did not fill in the form.
enum Unanswered {
    Declined,
    Cancelled,
}

impl Questions {
    pub(super) fn new(answers: &[String]) -> Self {
        Questions { answers: answers.to_vec(), terminal: Terminal::stderr(), has_person: stdin().is_terminal() }
    }

    /// A client that asks these questions.
    pub(super) fn ask_through(self, client: TestClientBuilder) -> TestClientBuilder {
        let (sampling, has_person) = (self.clone(), self.has_person);
        let client = client.asks_a_person().on_elicit(move |question: &ElicitRequest| self.elicit(question));
        // Only a person can play the model.
        if has_person { client.on_sample(move |params: &Value| sampling.sample(params)) } else { client }
    }

    fn elicit(&self, question: &ElicitRequest) -> ElicitReply {
        say!("\r{} {}", self.terminal.bold("?"), clean(self.terminal, question.message()));
        let answered = match question.url() {
            Some(url) => self.visit(url),
            None if self.answers.is_empty() && self.has_person => self.form(question.schema()),
            None if self.answers.is_empty() => self.nobody(question.schema()),
            None => self.prepared(question.schema()),
        };
        match answered {
            Ok(content) => ElicitReply::accept(content),
            Err(Unanswered::Declined) => ElicitReply::decline(),
            Err(Unanswered::Cancelled) => ElicitReply::cancel(),
        }
    }

    /// Nobody can fill in the form: says how to answer beforehand.
    fn nobody(&self, schema: &Value) -> Result<Value, Unanswered> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let mut options: Vec<String> =
            properties.filter(|(name, _)| required(name)).map(|(name, _)| format!("--answer {name}=…")).collect();
        if options.is_empty() {
            options.push("--answer name=…".to_owned());
        }
        let error = format!(
            "nobody is at a terminal to answer: pass `{}`, or `--answer decline`",
            self.terminal.clean(&options.join(" "))
        );
        say!("{} {error}", self.terminal.red("error:"));
        Err(Unanswered::Cancelled)
    }

    /// The answers of the command line.
    fn prepared(&self, schema: &Value) -> Result<Value, Unanswered> {
        match &self.answers[..] {
            [word] if word == "decline" => return Err(Unanswered::Declined),
            [word] if word == "cancel" => return Err(Unanswered::Cancelled),
            _ => {}
        }
        let asked = |pair: &&String| {
            let name = pair.split(['=', ':']).next().unwrap_or_default();
            schema["properties"].get(name).is_some() || !pair.contains('=')
        };
        let pairs: Vec<String> = self.answers.iter().filter(asked).cloned().collect();
        let given = |name: &str| pairs.iter().any(|pair| pair.split(['=', ':', '.']).next() == Some(name));
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.into_iter().find(|name| !given(name)) {
            let missing = format!("no answer to `{missing}`: add `--answer {missing}=…`");
            say!("{} {}", self.terminal.red("error:"), self.terminal.clean(&missing));
            return Err(Unanswered::Cancelled);
        }
        values::arguments(schema, None, &pairs).map(Value::Object).map_err(|error: CliError| {
            say!("{} `--answer`: {error}", self.terminal.red("error:"));
            Unanswered::Cancelled
        })
    }

    fn visit(&self, url: &str) -> Result<Value, Unanswered> {
        say!("  {}", self.terminal.cyan(clean(self.terminal, url)));
        match self.answers.first().map(String::as_str) {
            Some("accept") => return Ok(Value::Null),
            Some("decline") => return Err(Unanswered::Declined),
            Some(_) => {
                // Answers to a form are no consent to visit a page.
                say!("  {}", self.terminal.dim("not visited: `--answer accept` says that it was"));
                return Err(Unanswered::Cancelled);
            }
            None if !self.has_person => {
                let error = "nobody is at a terminal to visit the page: pass `--answer accept` once it was visited, or \
                             `--answer decline`";
                say!("{} {error}", self.terminal.red("error:"));
                return Err(Unanswered::Cancelled);
            }
            None => {}
        }
        line("  Visit the page, then press Enter (:decline to decline): ").map(|_| Value::Null)
    }

    fn form(&self, schema: &Value) -> Result<Value, Unanswered> {
        let end = if cfg!(windows) { "Ctrl-Z" } else { "Ctrl-D" };
        say!("  {}", self.terminal.dim(format!("Enter takes the default; :decline declines, {end} cancels.")));
        let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let mut content = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = self.field(name, field, required(name))? {
                content.insert(name.clone(), value);
            }
        }
        Ok(content.into())
    }

    /// Asks for a field until the answer fits. `None`: the person leaves it out.
    fn field(&self, name: &str, schema: &Value, required: bool) -> Result<Option<Value>, Unanswered> {
        let text = |key: &str| schema[key].as_str().map(|text| clean(self.terminal, text));
        let label = text("title").unwrap_or_else(|| name.to_owned());
        if let Some(description) = text("description") {
            say!("  {}", self.terminal.dim(description));
        }
        let listed = listed(schema);
        for (number, (title, _)) in (1..).zip(&listed) {
            say!("    {number}) {}", clean(self.terminal, title));
        }
        let default = schema.get("default").filter(|value| !value.is_null());
        let hint = match (default, listed.is_empty()) {
            (Some(Value::String(text)), _) => format!(" [{text}]"),
            (Some(value), _) => format!(" [{value}]"),
            (None, true) => {
                let kind = schema["format"].as_str().map_or_else(|| type_text(schema, schema), str::to_owned);
                format!(" ({}{})", clean(self.terminal, &kind), if required { "" } else { ", optional" })
            }
            (None, false) => if required { "" } else { " (optional)" }.to_owned(),
        };
        loop {
            let line = line(&format!("  {}{}: ", self.terminal.bold(&label), self.terminal.dim(hint.clone())))?;
            if line.is_empty() && (default.is_some() || !required) {
                return Ok(default.cloned());
            }
            match read(schema, &listed, name, &line) {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => say!("  {} {problem}", self.terminal.yellow("!")),
            }
        }
    }

    /// A person's answer to a request for the client's model.
    fn sample(&self, params: &Value) -> String {
        say!("\r{} The server asks for a message of the model:", self.terminal.bold("?"));
        for message in params["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or_default();
            let text =
                message["content"]["text"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned);
            say!("  {}: {}", self.terminal.dim(role), clean(self.terminal, &text));
        }
        line(&format!("  {}: ", self.terminal.bold("assistant"))).unwrap_or_default()
    }
}

/// A line of the person's.
fn line(prompt: &str) -> Result<String, Unanswered> {
    eprint!("{prompt}");
    let _ = stderr().flush();
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(0) | Err(_) => {
            say!();
            Err(Unanswered::Cancelled)
        }
        Ok(_) => match line.trim() {
            ":decline" => Err(Unanswered::Declined),
            ":cancel" => Err(Unanswered::Cancelled),
            line => Ok(line.to_owned()),
        },
    }
}

/// The choices of a field, with their titles.
fn listed(schema: &Value) -> Vec<(String, Value)> {
    let of = if schema["type"] == "array" { &schema["items"] } else { schema };
    let titled = of["oneOf"].as_array().or_else(|| of["anyOf"].as_array()).into_iter().flatten();
    let titled: Vec<(String, Value)> = titled
        .filter_map(|choice| Some((choice["title"].as_str()?.to_owned(), choice.get("const")?.clone())))
        .collect();
    if !titled.is_empty() {
        return titled;
    }
    let names = of["enumNames"].as_array();
    let values = choices(of, of).unwrap_or_default().into_iter().enumerate();
    values
        .map(|(at, value)| {
            let name = names.and_then(|names| names.get(at)).and_then(Value::as_str);
            let title = name.or(value.as_str()).map_or_else(|| value.to_string(), str::to_owned);
            (title, value)
        })
        .collect()
}

/// The answer as a value of the field, or what is wrong with it.
fn read(schema: &Value, listed: &[(String, Value)], name: &str, line: &str) -> Result<Value, String> {
    let choice = |word: &str| {
        let by_number = word.parse::<usize>().ok().and_then(|number| listed.get(number.checked_sub(1)?));
        let by_title = || listed.iter().find(|(title, value)| title == word || value.as_str() == Some(word));
        let chosen = by_number.or_else(by_title).map(|(_, value)| value.clone());
        chosen.ok_or_else(|| format!("choose a number from 1 to {}", listed.len()))
    };
    let value = match (types(schema, schema).contains(&"array"), listed.is_empty()) {
        (true, false) => {
            let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(choice).collect::<Result<Vec<Value>, String>>()?.into()
        }
        (false, false) => choice(line)?,
        (_, true) => {
            let form = serde_json::json!({"properties": {name: schema}});
            let pairs =
                [format!("{name}={}", if line.starts_with('@') { format!("@{line}") } else { line.to_owned() })];
            let mut read = values::arguments(&form, None, &pairs).map_err(|error| error.to_string())?;
            read.remove(name).unwrap_or_default()
        }
    };
    // A schema that cannot be checked is left to the server.
    let problems = Validator::new(schema).map(|validator| validator.problems(Validator::ROOT, &Instance::of(&value)));
    match problems {
        Ok(problems) if !problems.is_empty() => {
            Err(Problem::list(&problems).trim_start_matches("\n- ").replace("\n- ", "; "))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_checked_field_by_field() {
        let number = json!({"type": "integer", "minimum": 1, "maximum": 5});
        assert_eq!(read(&number, &[], "stars", "4"), Ok(json!(4)));
        assert!(read(&number, &[], "stars", "9").unwrap_err().contains('5'));
        assert!(read(&number, &[], "stars", "many").unwrap_err().contains("an integer"));
        let colour = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        let choices = listed(&colour);
        assert_eq!(choices[1].0, "Green");
        for line in ["2", "Green", "g"] {
            assert_eq!(read(&colour, &choices, "colour", line), Ok(json!("g")));
        }
        assert_eq!(read(&colour, &choices, "colour", "3").unwrap_err(), "choose a number from 1 to 2");
        let many =
            json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}});
        assert_eq!(read(&many, &listed(&many), "letters", "1, B"), Ok(json!(["a", "b"])));
        let text = json!({"type": "string"});
        assert_eq!(read(&text, &[], "handle", "@me"), Ok(json!("@me")));
    }
}
