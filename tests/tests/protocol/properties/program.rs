//! Small programs that ask: what a handler may do around its questions, chosen at random.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One step of a handler.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(super) enum Step {
    /// Asks for a form. Whoever is not strict goes on without an answer.
    Elicit { strict: bool },
    /// Asks the model.
    Sample,
    /// Asks for the directories.
    Roots,
    /// Does something once, which takes so many turns: once in all, or once each time around a loop.
    Once { turns: u8, each_time: bool },
    /// Fails at what is to be done once.
    OnceFails,
    /// Asks in the middle of what is to be done once.
    OnceAsks,
    /// Tells how far it is.
    Progress,
    /// Waits for nobody.
    Pause,
    /// Goes one way or another, by what was answered last.
    Branch(Vec<Step>, Vec<Step>),
    /// Does the same again.
    Repeat(u8, Vec<Step>),
    /// Asks, and goes on until the answer is no.
    WhileYes(Vec<Step>),
    /// Does two things at a time.
    Join(Vec<Step>, Vec<Step>),
    /// Fails.
    Fail,
}

pub(super) fn program() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..6)
}

fn step() -> impl Strategy<Value = Step> {
    let simple = prop_oneof![
        6 => any::<bool>().prop_map(|strict| Step::Elicit { strict }),
        2 => Just(Step::Sample),
        1 => Just(Step::Roots),
        5 => (0..3_u8, any::<bool>()).prop_map(|(turns, each_time)| Step::Once { turns, each_time }),
        1 => Just(Step::Progress),
        2 => Just(Step::Pause),
    ];
    let ending = prop_oneof![Just(Step::OnceFails), Just(Step::OnceAsks), Just(Step::Fail)];
    prop_oneof![20 => simple, 1 => ending].prop_recursive(3, 16, 3, |inner| {
        let steps = || vec(inner.clone(), 0..3);
        prop_oneof![
            1 => (steps(), steps()).prop_map(|(yes, no)| Step::Branch(yes, no)),
            1 => (1..3_u8, steps()).prop_map(|(times, body)| Step::Repeat(times, body)),
            1 => steps().prop_map(Step::WhileYes),
            2 => (steps(), steps()).prop_map(|(one, other)| Step::Join(one, other)),
        ]
    })
}
