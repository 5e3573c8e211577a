//! The handlers of the notebook: its tools, resources and prompts.

use mcp_runtime::Json;
use mcp_runtime::prelude::*;
use mcp_runtime::protocol::{PromptMessage, ResourceContents};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::db::Db;
use crate::store::{Entry, Hit, Note, Store};

pub struct Notebook {
    pub db: Db,
}

/// What a review looks at.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Focus {
    Style,
    Facts,
    Structure,
}

#[handlers]
impl Notebook {
    /// Find notes by their words, the best first.
    ///
    /// A word also finds longer ones that begin like it. Accents and capitals do not matter.
    #[tool(title = "Search notes", read_only)]
    async fn search(
        &self,
        /// Words that must all occur, in the title or the text.
        query: String,
        /// How many notes to find; at most 100.
        #[arg(default = 10)]
        limit: u32,
        /// Find only notes with this tag.
        tag: Option<String>,
    ) -> Result<Json<Vec<Hit>>> {
        self.db.run(move |store| store.search(&query, tag.as_deref(), limit)).await.map(Json)
    }

    /// Write a new note.
    #[tool(title = "Create a note", destructive = false)]
    async fn create(
        &self,
        ctx: &Context,
        /// One line, which no other note has as its title.
        title: String,
        /// Markdown.
        text: String,
        /// Words to find the note by.
        #[arg(default)]
        tags: Vec<String>,
    ) -> Result<String> {
        let id = self.change(ctx, move |store| store.create(&title, &text, &tags)).await?;
        Ok(format!("created note {id}, to be read at note://{id}"))
    }

    /// Replace the text of a note.
    #[tool(title = "Edit a note", destructive, idempotent)]
    async fn edit(
        &self,
        ctx: &Context,
        /// The number of the note.
        id: i64,
        /// The whole text, in Markdown. The one before is lost.
        text: String,
    ) -> Result<String> {
        self.change(ctx, move |store| store.edit(id, &text)).await?;
        Ok(format!("edited note {id}"))
    }

    /// Delete a note for good.
    #[tool(title = "Delete a note", destructive, idempotent)]
    async fn delete(
        &self,
        ctx: &Context,
        /// The number of the note.
        id: i64,
    ) -> Result<String> {
        self.change(ctx, move |store| store.delete(id)).await?;
        Ok(format!("deleted note {id}"))
    }

    /// Rebuild the index `search` looks into.
    ///
    /// Needed only when another program has written to the database.
    #[tool(title = "Rebuild the index", destructive = false, idempotent)]
    async fn reindex(&self, ctx: &Context) -> Result<String> {
        let ids = self.db.run(|store| store.to_index()).await?;
        ctx.progress(0, ids.len()).await;
        let mut done = 0;
        // In small batches: other jobs run in between, and a cancelled call leaves every note indexed, old or
        // new.
        for step in ids.chunks(100).map(<[i64]>::to_vec) {
            done += step.len();
            self.db.run(move |store| store.index(&step)).await?;
            ctx.progress(done, ids.len()).await;
        }
        Ok(format!("rebuilt the index of {done} notes"))
    }

    /// One note, as Markdown.
    #[resource("note://{id}", mime = "text/markdown", subscribe)]
    async fn note(&self, #[arg(complete = Self::ids)] id: i64) -> Result<Option<String>> {
        Ok(self.db.run(move |store| store.note(id)).await?.map(|note| note.markdown()))
    }

    /// The ids, titles and tags of all notes.
    #[resource("notes://index", title = "All notes", mime = "application/json", subscribe)]
    async fn index(&self) -> Result<Json<Vec<Entry>>> {
        self.db.run(|store| store.all()).await.map(Json)
    }

    /// Ask for a review of a note.
    #[prompt(title = "Review a note")]
    async fn review(
        &self,
        /// The title of the note.
        #[arg(complete = Self::titles)]
        title: String,
        /// What to look at; everything, if not given.
        focus: Option<Focus>,
    ) -> Result<[PromptMessage; 2]> {
        let unknown = Error::invalid_params(format!("no note is called {title:?}; notes://index lists all titles"));
        let note = self.db.run(move |store| store.titled(&title)).await?.ok_or(unknown)?;
        let ask = match focus {
            None => "Review this note.",
            Some(Focus::Style) => "Review the style of this note: what could be said shorter, or more clearly?",
            Some(Focus::Facts) => "Review the facts in this note: which are wrong, which need a source?",
            Some(Focus::Structure) => "Review the structure of this note: what belongs elsewhere, what is missing?",
        };
        let contents = ResourceContents::text(note.markdown()).with_mime("text/markdown");
        let contents = contents.with_uri(format!("note://{}", note.id));
        Ok([PromptMessage::user(ask), PromptMessage::user(Content::resource(contents))])
    }

    /// Ask for a digest of all notes with a tag.
    #[prompt(title = "Digest a tag")]
    async fn digest(
        &self,
        /// The tag.
        #[arg(complete = Self::tags)]
        tag: String,
    ) -> Result<String> {
        let none = Error::invalid_params(format!("no note has the tag {tag:?}; notes://index lists all tags"));
        let notes = self.db.run(move |store| store.tagged(&tag)).await?;
        let all: Vec<String> = notes.iter().map(Note::markdown).collect();
        if all.is_empty() { Err(none) } else { Ok(format!("Sum up these notes.\n\n{}", all.join("\n\n"))) }
    }

    async fn ids(&self, typed: &str) -> Vec<String> {
        self.offer(typed, Store::ids).await
    }

    async fn titles(&self, typed: &str) -> Vec<String> {
        self.offer(typed, Store::titles).await
    }

    async fn tags(&self, typed: &str) -> Vec<String> {
        self.offer(typed, Store::tags).await
    }

    /// Completion values for the typed text. A failure gives none: completion is best effort.
    async fn offer(&self, typed: &str, values: fn(&Store, &str) -> Result<Vec<String>>) -> Vec<String> {
        let typed = typed.to_owned();
        self.db.run(move |store| values(store, &typed)).await.unwrap_or_default()
    }

    /// Changes a note, whose id `change` returns, and announces the change on the store's thread: a call
    /// cancelled while it waits could not announce what it has done.
    async fn change<F>(&self, ctx: &Context, change: F) -> Result<i64>
    where
        F: FnOnce(&mut Store) -> Result<i64> + Send + 'static,
    {
        let server = ctx.server().clone();
        let announced = move |store: &mut Store| {
            let id = change(store)?;
            server.resource_updated(format!("note://{id}"));
            server.resource_updated("notes://index");
            Ok(id)
        };
        self.db.run(announced).await
    }
}
