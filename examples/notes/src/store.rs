//! The database: plain blocking functions.

use std::path::Path;

use mcp_runtime::prelude::*;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

/// The maximum number of search results.
pub const MOST_HITS: u32 = 100;

/// `words` is the search index: a copy of the notes, updated by the functions below. A program that writes
/// to `notes` directly makes it stale. `AUTOINCREMENT` ensures that the id, and thus the URI, of a deleted
/// note is never reused.
const SCHEMA: &str = "
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL UNIQUE, text TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS tags (
        note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (note, tag)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, text, tokenize = 'unicode61 remove_diacritics 2');
";

/// A note in a list.
#[derive(Serialize, JsonSchema)]
pub struct Entry {
    pub id: i64,
    pub title: String,
    pub tags: Vec<String>,
}

/// A search result.
#[derive(Serialize, JsonSchema)]
pub struct Hit {
    #[serde(flatten)]
    pub entry: Entry,
    /// The text around the words found, which are marked with asterisks.
    pub excerpt: String,
}

/// A whole note.
pub struct Note {
    pub id: i64,
    pub title: String,
    pub text: String,
}

impl Note {
    pub fn markdown(&self) -> String {
        format!("# {}\n\n{}", self.title, self.text)
    }
}

pub struct Store(Connection);

impl Store {
    pub fn open(path: &Path) -> Result<Self> {
        let opened = Connection::open(path).and_then(|db| db.execute_batch(SCHEMA).map(|()| Store(db)));
        let path = path.display();
        opened.map_err(|error| format!("cannot open {path}: {error}; name a file that can be written, or made").into())
    }

    /// The notes that contain all these words, or words that begin with them; best match first.
    pub fn search(&self, words: &str, tag: Option<&str>, limit: u32) -> Result<Vec<Hit>> {
        // Quoted, so that nothing is an operator of the query language: `"not"* "c++"*`.
        let words = words.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let query: String = words.map(|word| format!("\"{}\"* ", word.replace('"', "\"\""))).collect();
        if query.is_empty() {
            return Err(Error::msg("nothing to look for: give at least one word; notes://index lists all notes"));
        }
        let sql = "SELECT id, notes.title, snippet(words, 1, '*', '*', '…', 16)
            FROM words JOIN notes ON notes.id = words.rowid
            WHERE words MATCH ?1 AND (?2 IS NULL OR ?2 IN (SELECT tag FROM tags WHERE note = id))
            ORDER BY bm25(words, 4.0), id LIMIT ?3";
        let hit = |row: &Row| Ok(Hit { entry: self.entry(row)?, excerpt: row.get(2)? });
        self.list(sql, params![query, tag, limit.min(MOST_HITS)], hit)
    }

    /// Creates a note and returns its id.
    pub fn create(&mut self, title: &str, text: &str, tags: &[String]) -> Result<i64> {
        if title.trim().is_empty() || title.contains(['\n', '\r']) {
            return Err(Error::msg("a title is one line of text: give the note another"));
        }
        if let Some(Note { id, .. }) = self.titled(title)? {
            return Err(Error::msg(format!("note {id} has this title: edit that one, or choose another title")));
        }
        let change = self.0.transaction()?;
        change.execute("INSERT INTO notes (title, text) VALUES (?1, ?2)", [title, text])?;
        let id = change.last_insert_rowid();
        for tag in tags {
            change.execute("INSERT OR IGNORE INTO tags VALUES (?1, ?2)", params![id, tag])?;
        }
        index(&change, id)?;
        change.commit()?;
        Ok(id)
    }

    /// Replaces the text of a note.
    pub fn edit(&mut self, id: i64, text: &str) -> Result<i64> {
        self.change(id, "UPDATE notes SET text = ?2 WHERE id = ?1", params![id, text])
    }

    /// Deletes a note.
    pub fn delete(&mut self, id: i64) -> Result<i64> {
        self.change(id, "DELETE FROM notes WHERE id = ?1", [id])
    }

    /// Changes a note and returns its id.
    fn change(&mut self, id: i64, sql: &str, params: impl Params) -> Result<i64> {
        let change = self.0.transaction()?;
        if change.execute(sql, params)? == 0 {
            return Err(Error::msg(format!("there is no note {id}: `search` finds notes, notes://index lists them")));
        }
        index(&change, id)?;
        change.commit()?;
        Ok(id)
    }

    /// Every id to index: those of notes, and those of deleted notes still in the index.
    pub fn to_index(&self) -> Result<Vec<i64>> {
        self.list("SELECT id FROM notes UNION SELECT rowid FROM words", [], only)
    }

    /// Reindexes these notes.
    pub fn index(&mut self, ids: &[i64]) -> Result<()> {
        let change = self.0.transaction()?;
        ids.iter().try_for_each(|id| index(&change, *id))?;
        Ok(change.commit()?)
    }

    pub fn note(&self, id: i64) -> Result<Option<Note>> {
        Ok(self.list("SELECT id, title, text FROM notes WHERE id = ?1", [id], note)?.pop())
    }

    pub fn titled(&self, title: &str) -> Result<Option<Note>> {
        Ok(self.list("SELECT id, title, text FROM notes WHERE title = ?1", [title], note)?.pop())
    }

    pub fn all(&self) -> Result<Vec<Entry>> {
        self.list("SELECT id, title FROM notes ORDER BY id", [], |row| self.entry(row))
    }

    /// The ids that begin with the typed text.
    pub fn ids(&self, typed: &str) -> Result<Vec<String>> {
        self.list("SELECT CAST(id AS TEXT) FROM notes WHERE instr(id, ?1) = 1 ORDER BY id", [typed], only)
    }

    /// The titles that begin with the typed text, ignoring case.
    pub fn titles(&self, typed: &str) -> Result<Vec<String>> {
        let sql = "SELECT title FROM notes WHERE instr(lower(title), lower(?1)) = 1 ORDER BY title";
        self.list(sql, [typed], only)
    }

    /// The tags that begin with the typed text, ignoring case.
    pub fn tags(&self, typed: &str) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT tag FROM tags WHERE instr(lower(tag), lower(?1)) = 1 ORDER BY tag";
        self.list(sql, [typed], only)
    }

    /// The notes with a tag.
    pub fn tagged(&self, tag: &str) -> Result<Vec<Note>> {
        let sql = "SELECT id, title, text FROM notes WHERE ?1 IN (SELECT tag FROM tags WHERE note = id) ORDER BY id";
        self.list(sql, [tag], note)
    }

    fn list<T>(&self, sql: &str, params: impl Params, read: impl FnMut(&Row) -> Result<T>) -> Result<Vec<T>> {
        self.0.prepare(sql)?.query_and_then(params, read)?.collect()
    }

    fn entry(&self, row: &Row) -> Result<Entry> {
        let id = row.get(0)?;
        let tags = self.list("SELECT tag FROM tags WHERE note = ?1 ORDER BY tag", [id], only)?;
        Ok(Entry { id, title: row.get(1)?, tags })
    }
}

fn only<T: FromSql>(row: &Row) -> Result<T> {
    Ok(row.get(0)?)
}

fn note(row: &Row) -> Result<Note> {
    Ok(Note { id: row.get(0)?, title: row.get(1)?, text: row.get(2)? })
}

/// Updates the index for one note, whether new, changed or deleted.
fn index(db: &Connection, id: i64) -> Result<()> {
    db.execute("DELETE FROM words WHERE rowid = ?1", [id])?;
    db.execute("INSERT INTO words (rowid, title, text) SELECT id, title, text FROM notes WHERE id = ?1", [id])?;
    Ok(())
}
