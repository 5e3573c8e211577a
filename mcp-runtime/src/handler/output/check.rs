//! Checks structured results against the tool's own `outputSchema`.

use std::sync::Arc;

use crate::error::PAGE;
use crate::outcome::{Failure, Outcome, Reply, Step};
use crate::schema::instance::Instance;
use crate::schema::validator::{Problem, Validator};

/// The step, with its result checked when it is there.
pub(crate) fn checked(step: Step, schema: &Arc<Validator>, layered: bool) -> Step {
    let schema = Arc::clone(schema);
    match step {
        Step::Ready(outcome) => Step::Ready(check(outcome, &schema, layered)),
        Step::Future(work) => Step::Future(Box::pin(async move { check(work.await, &schema, layered) })),
        Step::Blocking(work) => Step::Blocking(Box::new(move || check(work(), &schema, layered))),
    }
}

fn check(outcome: Outcome, schema: &Validator, layered: bool) -> Outcome {
    let Ok(Reply::Tool(result)) = &outcome else { return outcome };
    let structured = result.structured.as_deref().filter(|_| !result.is_error).and_then(Instance::read);
    let problems = structured.map(|value| schema.problems(Validator::ROOT, &value)).unwrap_or_default();
    if problems.is_empty() {
        return outcome;
    }
    let suspect = if layered {
        "If a layer has changed the result, as `Redact` makes a text of a number, let the schema allow that. Else correct"
    } else {
        "Correct"
    };
    let text = format!(
        "the tool's result does not match its own outputSchema:{}\n\
         {suspect} the type's `Serialize` or `JsonSchema`; `Server::validate_output(false)` turns this check off.",
        Problem::list(&problems)
    );
    tracing::error!("{text} See {PAGE}#a-result-that-does-not-match");
    Err(Failure::Handler(text.into()))
}
