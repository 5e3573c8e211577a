//! A restaurant reservation: a dialogue with the user, written as one function.
//!
//! In a session each question is a request to the client. Since 2026-07-28 the server answers the call with
//! its questions and the client calls again, so `book` runs from the top for every answer. The function is
//! the same for both, if it follows one rule: side effects that must happen once go into `ctx.once`.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use mcp_runtime::Json;
use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// A form is a struct. Doc comments become labels, and the answer is validated against the schema.
#[derive(Deserialize, JsonSchema)]
struct Wish {
    /// How many are you?
    #[schemars(range(min = 1, max = 12))]
    guests: u8,
    /// On which day?
    #[schemars(extend("format" = "date"))]
    day: String,
    /// Where would you like to sit?
    #[serde(default)]
    seating: Seating,
}

#[derive(Deserialize, JsonSchema, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Seating {
    #[default]
    Inside,
    Terrace,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Shall we?
    yes: bool,
}

/// A restaurant with its tables: those without a reservation are free.
#[derive(Default)]
pub struct Restaurant {
    tables: Mutex<Vec<Option<Reservation>>>,
}

/// A table that is held for a dialogue, or booked.
struct Reservation {
    /// The dialogue that holds it. A table that was given back may be held by another one by now.
    dialogue: String,
    guests: String,
    booked: bool,
}

#[handlers]
impl Restaurant {
    /// Book a table, asking the user for what is needed.
    #[tool(task, asks_first, requires(elicitation))]
    async fn book(
        &self,
        ctx: &Context,
        /// The name of the guest.
        name: String,
    ) -> Result<String> {
        // A form. If the user declines or closes it, `?` ends the call and tells the model.
        let wish: Wish = ctx.elicit(format!("A table for {name}: how may we serve you?")).await?;

        // A side effect: runs once, and its result is remembered however often the function runs.
        let table = ctx.once("reserve", async { Ok(self.reserve(ctx, &name, &wish)) }).await?;

        // A refusal frees the table again. A client that never returns does not: real reservations expire.
        agree(ctx, &wish, table).await.inspect_err(|_| self.release(ctx, table))?;

        // A client can send an earlier round again, with another answer. What it remembers may be over by now: the
        // last word has the restaurant.
        self.confirm(ctx, table)?;

        // The rest takes a while: it becomes a task if the client supports them, which polls for the result.
        ctx.start_task().await;
        let steps = ["telling the kitchen", "setting the table", "folding napkins"];
        for (done, step) in steps.iter().enumerate() {
            ctx.progress_message(done + 1, steps.len(), step).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(format!("Table {table} is booked for {name}, {} on {}.", wish.guests, wish.day))
    }

    /// List the reservations.
    #[tool(read_only)]
    fn reservations(&self) -> Json<Vec<String>> {
        let text = |table: &Option<Reservation>| table.as_ref().map_or("free".to_owned(), |held| held.guests.clone());
        Json(self.tables().iter().map(text).collect())
    }
}

impl Restaurant {
    fn tables(&self) -> MutexGuard<'_, Vec<Option<Reservation>>> {
        self.tables.lock().expect("no panic while the lock is held")
    }

    /// Holds the first free table, and returns its number.
    fn reserve(&self, ctx: &Context, name: &str, wish: &Wish) -> usize {
        let mut tables = self.tables();
        let table = tables.iter().position(Option::is_none).unwrap_or(tables.len());
        if table == tables.len() {
            tables.push(None);
        }
        let (dialogue, guests) = (ctx.dialogue_id().to_owned(), format!("{name}, {} on {}", wish.guests, wish.day));
        tables[table] = Some(Reservation { dialogue, guests, booked: false });
        table + 1
    }

    /// Frees a table, unless it is booked or somebody else's by now.
    fn release(&self, ctx: &Context, table: usize) {
        self.tables()[table - 1].take_if(|held| held.dialogue == ctx.dialogue_id() && !held.booked);
    }

    /// Books a table that this dialogue still holds. A second time changes nothing.
    fn confirm(&self, ctx: &Context, table: usize) -> Result<()> {
        match &mut self.tables()[table - 1] {
            Some(held) if held.dialogue == ctx.dialogue_id() => {
                held.booked = true;
                Ok(())
            }
            _ => Err(Error::msg(format!("nothing is booked: table {table} was given back; ask for a table again"))),
        }
    }
}

/// Asks the user to confirm the reservation, step by step.
async fn agree(ctx: &Context, wish: &Wish, table: usize) -> Result<()> {
    // A branch: only some users are asked.
    if wish.seating == Seating::Terrace && !ctx.elicit::<Confirm>("It may rain. The terrace all the same?").await?.yes {
        return Err(Error::msg("nothing is booked: no terrace"));
    }
    // A confirmation, where "no" has a text of its own.
    match ctx.elicit::<Confirm>(format!("Table {table} for {} on {}?", wish.guests, wish.day)).await {
        Ok(Confirm { yes: true }) => {}
        Ok(_) | Err(AskError::Declined) => return Err(Error::msg("nothing is booked: not confirmed")),
        Err(other) => return Err(other.into()),
    }
    // A page to visit, for data no form may ask for, such as a card number. Not every client supports it.
    if wish.guests > 6 {
        if !ctx.can_elicit_url() {
            return Err(Error::msg("nothing is booked: for more than 6, call us"));
        }
        let page = format!("https://pay.example.com/deposit?table={table}");
        ctx.elicit_url("Large tables need a deposit.", page).await?.complete().await;
    }
    Ok(())
}

/// A server for one restaurant.
pub fn server() -> Server {
    Server::new("booking", env!("CARGO_PKG_VERSION"))
        .instructions("Ask for a table with `book`; the user answers the rest.")
        .mount(Restaurant::default())
}
