//! The handlers. Each sees the notes of its caller, and no others.

use mcp_runtime::Json;
use mcp_runtime::prelude::*;

use crate::note_id::NoteId;
use crate::store::{Note, Store};

#[derive(Default)]
pub struct Notebook {
    store: Store,
}

#[handlers]
impl Notebook {
    /// List your notes: the id and the text of each.
    #[tool(title = "List notes", read_only)]
    fn list_notes(&self, ctx: &Context) -> Result<Json<Vec<Note>>> {
        Ok(Json(self.store.all(ctx.user()?)))
    }

    /// Read one of your notes.
    #[tool(title = "Read a note", read_only)]
    fn read_note(
        &self,
        ctx: &Context,
        /// The id of the note; `list_notes` shows it.
        id: NoteId,
    ) -> Result<String> {
        let id = id.to_string();
        self.store.get(ctx.user()?, &id).ok_or_else(|| unknown(&id))
    }

    /// Write a note, or replace the text of one.
    #[tool(title = "Write a note", destructive, idempotent, scopes("notes:write"))]
    fn write_note(
        &self,
        ctx: &Context,
        /// What the note is called, such as `shopping` or `7`. The text of a note that is called so is replaced.
        id: NoteId,
        /// The whole text.
        #[arg(max_length = 10_000)]
        text: String,
    ) -> Result<String> {
        let id = id.to_string();
        let done = format!("wrote note {id}, to be read at note://{id}");
        self.store.put(ctx.user()?, id, text)?;
        Ok(done)
    }

    /// Delete one of your notes for good.
    #[tool(title = "Delete a note", destructive, idempotent, scopes("notes:write"))]
    fn delete_note(
        &self,
        ctx: &Context,
        /// The id of the note.
        id: NoteId,
    ) -> Result<String> {
        let id = id.to_string();
        if self.store.remove(ctx.user()?, &id) { Ok(format!("deleted note {id}")) } else { Err(unknown(&id)) }
    }

    /// One of your notes.
    #[resource("note://{id}", title = "A note", mime = "text/plain")]
    fn note(&self, ctx: &Context, id: String) -> Result<Option<String>> {
        Ok(self.store.get(ctx.user()?, &id))
    }

    /// Ask for a summary of your notes.
    #[prompt(title = "Sum up the notes")]
    fn summary(
        &self,
        ctx: &Context,
        /// How long it may be.
        #[arg(default = 3, min = 1, max = 20)]
        sentences: u8,
    ) -> Result<String> {
        let notes: Vec<String> =
            self.store.all(ctx.user()?).into_iter().map(|note| format!("# {}\n\n{}", note.id, note.text)).collect();
        Ok(format!("Sum up these notes in at most {sentences} sentences.\n\n{}", notes.join("\n\n")))
    }
}

fn unknown(id: &str) -> Error {
    format!("you have no note `{id}`; `list_notes` shows those you have").into()
}
