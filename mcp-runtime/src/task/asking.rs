//! The questions of a task: they are in its record, and so are the answers, until the handler has read them.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::job::Job;
use super::watch::TaskWatch;
use crate::ask::{AskError, Posed, read_answer};
use crate::outcome::Question;
use crate::store::{TaskQuestion, TaskRecord};

impl Job {
    /// Puts a question into the task's record, and waits for the answer.
    pub(crate) async fn ask(&self, key: &str, posed: &Posed, limit: Duration) -> Result<Value, AskError> {
        #[cfg(feature = "http")]
        if let Some(durable) = self.durable() {
            return self.ask_durably(durable, key, posed, limit).await;
        }
        let news = self.watch.news();
        let mut open = self.open_question(key);
        let asked = self.write(|task| {
            task.ask(key, &posed.question);
            true
        });
        match asked.await {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(AskError::Disconnected),
        }
        let answer = tokio::time::timeout(limit, self.answer(key, news)).await;
        if answer.is_ok() {
            open.settle();
        }
        answer.unwrap_or(Err(AskError::TimedOut(limit)))
    }

    async fn answer(&self, key: &str, mut news: watch::Receiver<u64>) -> Result<Value, AskError> {
        loop {
            let mut answer = None;
            let taken = self.write(|task| {
                answer = task.answers.remove(key);
                answer.is_some()
            });
            match (taken.await, answer) {
                (Ok(Some(_)), Some(answer)) => return read_answer(answer),
                _ => TaskWatch::happens(&mut news).await,
            }
        }
    }

    pub(super) fn open_question<'a>(&'a self, key: &'a str) -> QuestionGuard<'a> {
        QuestionGuard { job: self, key: Some(key) }
    }
}

impl TaskRecord {
    /// Adds a question.
    pub(super) fn ask(&mut self, key: &str, question: &Question) {
        let question = TaskQuestion::new(question.method, question.params.clone());
        self.questions.insert(key.to_owned(), question);
    }
}

/// An open question. Withdraws it on drop, unless it is settled.
pub(super) struct QuestionGuard<'a> {
    job: &'a Job,
    key: Option<&'a str>,
}

impl QuestionGuard<'_> {
    /// The record has the question no more.
    pub(super) fn settle(&mut self) {
        self.key = None;
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.job.withdraw(key);
        }
    }
}
