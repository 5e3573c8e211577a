//! Where programs that ask are played: handlers that do what a program says, and a journal of what came
//! of it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::program::Step;

/// What was done and asked, in order.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<Vec<String>>);

impl Journal {
    /// Writes down; how often that is in here now.
    pub(super) fn note(&self, what: String) -> usize {
        let mut all = self.0.lock().unwrap();
        all.push(what);
        all.iter().filter(|other| *other == all.last().unwrap()).count()
    }

    /// All of it. What happened at a time, between a `begin` and its `end`, has no order.
    pub(super) fn read(&self) -> Vec<String> {
        let mut all = self.0.lock().unwrap().clone();
        let mut from = 0;
        while let Some(begin) = all[from..].iter().position(|entry| entry.starts_with("begin")) {
            let (begin, end) = (from + begin, all[from + begin].replacen("begin", "end", 1));
            from = all.iter().position(|entry| *entry == end).unwrap_or(all.len());
            all[begin + 1..from].sort();
        }
        all
    }
}

/// What is filled in.
#[derive(Debug, Deserialize, JsonSchema)]
struct Form {
    yes: bool,
    #[schemars(range(max = 99))]
    number: u32,
}

pub(super) struct Stage(pub(super) Arc<Journal>);

#[handlers]
impl Stage {
    /// Do what the program says.
    #[tool]
    async fn play(&self, ctx: &Context, program: Vec<Step>) -> Result<String> {
        self.perform(ctx, &program, false).await
    }

    /// Do what the program says, as a task.
    #[tool(task = "required")]
    async fn play_on(&self, ctx: &Context, program: Vec<Step>) -> Result<String> {
        self.perform(ctx, &program, false).await
    }

    /// Do what the program says, whoever dies.
    #[tool(task = "required", durable)]
    async fn play_durably(&self, ctx: &Context, program: Vec<Step>) -> Result<String> {
        self.perform(ctx, &program, true).await
    }
}

impl Stage {
    async fn perform(&self, ctx: &Context, program: &[Step], may_die: bool) -> Result<String> {
        let play = Play { ctx, journal: &self.0, may_die };
        let mut part = Part { fuel: 16, ..Part::default() };
        play.all(program, &Site::default(), &mut part).await?;
        Ok(part.said.join("\n"))
    }
}

/// How often a play is asked at most, and what it knows: what was answered so far makes the next question.
#[derive(Debug, Default)]
struct Part {
    said: Vec<String>,
    yes: bool,
    known: usize,
    fuel: u32,
    /// Whether others play at the same time: then questions need names.
    named: bool,
}

impl Part {
    fn hear(&mut self, what: String) {
        self.known = self.known.wrapping_mul(31).wrapping_add(what.len()) % 1000;
        self.said.push(what);
    }

    fn is_spent(&mut self) -> bool {
        let spent = self.fuel == 0;
        self.fuel = self.fuel.saturating_sub(1);
        spent
    }
}

/// A place in a program: as it is written, and as it is run, where loops come by more than once.
#[derive(Debug, Clone, Default)]
struct Site {
    written: String,
    run: String,
}

impl Site {
    fn at(&self, index: usize) -> Self {
        Site { written: format!("{}.{index}", self.written), run: format!("{}.{index}", self.run) }
    }

    fn turn(&self, turn: u8) -> Self {
        Site { run: format!("{}#{turn}", self.run), ..self.clone() }
    }
}

struct Play<'a> {
    ctx: &'a Context,
    journal: &'a Journal,
    /// Whether it may die in the middle of what is done once. Then only what is done to the end is done once.
    may_die: bool,
}

type Playing<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

impl Play<'_> {
    fn all<'a>(&'a self, steps: &'a [Step], site: &'a Site, part: &'a mut Part) -> Playing<'a> {
        Box::pin(async move {
            for (index, step) in steps.iter().enumerate() {
                self.step(step, site.at(index), part).await?;
            }
            Ok(())
        })
    }

    async fn step(&self, step: &Step, site: Site, part: &mut Part) -> Result<()> {
        match step {
            Step::Elicit { strict } => return self.elicit(*strict, &site, part).await,
            Step::Sample | Step::Roots if part.is_spent() => {}
            Step::Sample => {
                let ask = self.ctx.sample(format!("{} knows {}", site.run, part.known));
                let ask = if part.named { ask.key(&site.run) } else { ask };
                part.hear(ask.await?.text());
            }
            Step::Roots => {
                let ask = self.ctx.list_roots();
                let ask = if part.named { ask.key(&site.run) } else { ask };
                part.hear(ask.await?.iter().map(|root| &*root.uri).collect());
            }
            Step::Once { turns, each_time } => {
                let key = if *each_time { &site.run } else { &site.written };
                part.said.push(self.once(key, *turns).await?.to_string());
            }
            Step::OnceFails => self.ctx.once(&site.run, async { Err("it failed".into()) }).await?,
            Step::OnceAsks => {
                let asking = async { Ok(self.ctx.list_roots().await?) };
                self.ctx.once(&site.run, asking).await?;
            }
            Step::Progress => self.ctx.progress_message(1, 2, &site.run).await,
            Step::Pause => tokio::time::sleep(Duration::from_millis(if self.may_die { 10 } else { 1 })).await,
            Step::Branch(yes, no) => return self.all(if part.yes { yes } else { no }, &site, part).await,
            Step::Repeat(times, body) => {
                for turn in 0..*times {
                    self.all(body, &site.turn(turn), part).await?;
                }
            }
            Step::WhileYes(body) => {
                for turn in 0..3 {
                    self.elicit(true, &site.turn(turn), part).await?;
                    if !part.yes {
                        break;
                    }
                    self.all(body, &site.turn(turn), part).await?;
                }
            }
            Step::Join(one, other) => return self.join(one, other, &site, part).await,
            Step::Fail => return Err(format!("{} fails", site.run).into()),
        }
        Ok(())
    }

    async fn elicit(&self, strict: bool, site: &Site, part: &mut Part) -> Result<()> {
        if part.is_spent() {
            part.yes = false;
            return Ok(());
        }
        let ask = self.ctx.elicit::<Form>(format!("{} knows {}", site.run, part.known));
        let ask = if part.named { ask.key(&site.run) } else { ask };
        match ask.await {
            Err(error) if strict => return Err(error.into()),
            Err(error) => part.hear(error.to_string()),
            Ok(form) => {
                part.yes = form.yes;
                part.hear(format!("{:1$}", form.yes, form.number as usize));
            }
        }
        Ok(())
    }

    /// Does something once; how often it has been done.
    async fn once(&self, key: &str, turns: u8) -> Result<usize> {
        let work = async {
            let note = || self.journal.note(format!("did {key}"));
            let times = (!self.may_die).then(note);
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            Ok(times.unwrap_or_else(note))
        };
        self.ctx.once(key, work).await
    }

    async fn join(&self, one: &[Step], other: &[Step], site: &Site, part: &mut Part) -> Result<()> {
        let mark = async |what: &str| self.mark(&format!("{what} {}", site.run)).await;
        if !part.named {
            mark("begin").await?;
        }
        let share = || Part { fuel: part.fuel / 2, named: true, known: part.known, yes: part.yes, said: Vec::new() };
        let (mut first, mut second) = (share(), share());
        let (left, right) = (site.at(0), site.at(1));
        let (one, other) = tokio::join!(self.all(one, &left, &mut first), self.all(other, &right, &mut second));
        if !part.named {
            mark("end").await?;
        }
        one?;
        other?;
        part.fuel -= part.fuel / 2;
        part.said.extend(first.said.into_iter().chain(second.said));
        Ok(())
    }

    /// Puts a mark into the journal, where things happen at a time.
    async fn mark(&self, what: &str) -> Result<()> {
        let work = async {
            self.journal.note(what.to_owned());
            Ok(())
        };
        self.ctx.once(what, work).await
    }
}

/// How often each effect was done.
pub(super) fn effects(journal: &[String]) -> BTreeMap<&str, usize> {
    let mut all = BTreeMap::new();
    for entry in journal.iter().filter(|entry| !entry.starts_with("asked")) {
        *all.entry(entry.as_str()).or_default() += 1;
    }
    all
}
