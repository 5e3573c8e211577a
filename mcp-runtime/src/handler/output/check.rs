//! Checks structured results against the tool's own `outputSchema`.

use std::sync::Arc;

use crate::outcome::{Failure, Outcome, Reply, Step};
use crate::schema::instance::Instance;
use crate::schema::validator::{Problem, Validator};

/// The step, with its result checked when it is there.
pub(crate) fn checked(step: Step, schema: &Arc<Validator>) -> Step {
    let schema = Arc::clone(schema);
    match step {
        Step::Ready(outcome) => Step::Ready(check(outcome, &schema)),
        Step::Future(work) => Step::Future(Box::pin(async move { check(work.await, &schema) })),
        Step::Blocking(work) => Step::Blocking(Box::new(move || check(work(), &schema))),
    }
}

fn check(outcome: Outcome, schema: &Validator) -> Outcome {
    let Ok(Reply::Tool(result)) = &outcome else { return outcome };
    let structured = result.structured.as_deref().filter(|_| !result.is_error).and_then(Instance::read);
    let problems = structured.map(|value| schema.problems(Validator::ROOT, &value)).unwrap_or_default();
    if problems.is_empty() {
        return outcome;
    }
    let text = format!(
        "the tool's result does not match its own outputSchema:{}\n\
         Correct the type's `Serialize` or `JsonSchema`; `Server::validate_output(false)` turns this check off.",
        Problem::list(&problems)
    );
    tracing::error!("{text}");
    Err(Failure::Handler(text.into()))
}
