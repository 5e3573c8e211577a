//! Tests of what is checked and read in an answer, beyond what the form shows.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Form;
use crate::protocol::Revision;

fn form<T: JsonSchema>() -> Form {
    Form::of::<T>().unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Labelled {
    #[schemars(regex(pattern = "^[a-z]+$"))]
    tag: String,
    day: u8,
}

#[test]
fn pattern_is_checked_and_not_shown() {
    let form = form::<Labelled>();
    let shown = form.schema(Revision::LATEST).unwrap();
    assert_eq!(shown["properties"]["tag"], json!({"type": "string"}));
    let error = form.check(&json!({"tag": "A", "day": 1})).unwrap_err();
    assert_eq!(error, "`tag`: expected a string that matches the pattern ^[a-z]+$, got the string \"A\"");
}

#[test]
fn content_of_the_wrong_type_is_read_leniently() {
    let mut content = json!({"tag": "a", "day": "3"});
    form::<Labelled>().read_leniently(&mut content);
    assert_eq!(content, json!({"tag": "a", "day": 3}));
    let mut content = json!({"tag": "a", "day": 3.0});
    form::<Labelled>().read_leniently(&mut content);
    assert_eq!(content, json!({"tag": "a", "day": 3}));
}
