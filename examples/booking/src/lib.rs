//! A table at a restaurant: a dialogue with the user, written down as one function.
//!
//! In sessions each question is a request to the client; since 2026-07-28 the call is answered with its
//! questions and made again, so `book` runs from the top for every answer. The function is the same, if it
//! keeps one rule: what must not be done twice stands in `ctx.once`.

use std::sync::Mutex;
use std::time::Duration;

use mcp_runtime::Json;
use mcp_runtime::ask::AskError;
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// A form: a struct. Docs become its labels, and what the schema says is checked before you see it.
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

/// The restaurant: its book of reservations.
#[derive(Default)]
pub struct Restaurant {
    tables: Mutex<Vec<String>>,
}

#[handlers]
impl Restaurant {
    /// Book a table, asking the user for what is needed.
    #[tool(task, asks_first, requires(elicitation))]
    async fn book(&self, ctx: &Context, name: String) -> Result<String> {
        // A form. Whoever closes or declines it ends the call here: `?` tells the model so.
        let wish: Wish = ctx.elicit(format!("A table for {name}: how may we serve you?")).await?;

        // An effect: done once, remembered however often the function runs.
        let table = ctx.once("reserve", async { self.reserve(&name, &wish) }).await?;

        // Whoever does not agree frees the table again. Who never comes back does not: real ones expire.
        agree(ctx, &wish, table).await.inspect_err(|_| self.release(table))?;

        // The rest takes a while: a task, where the client knows them, which comes back for the result.
        ctx.start_task().await;
        let steps = ["telling the kitchen", "setting the table", "folding napkins"];
        for (done, step) in steps.iter().enumerate() {
            ctx.progress_message(done + 1, steps.len(), step).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(format!("Table {table} is booked for {name}, {} on {}.", wish.guests, wish.day))
    }

    /// The reservations there are.
    #[tool(read_only)]
    fn reservations(&self) -> Json<Vec<String>> {
        Json(self.tables.lock().expect("nobody panics with the book open").clone())
    }
}

impl Restaurant {
    fn reserve(&self, name: &str, wish: &Wish) -> Result<usize> {
        let mut tables = self.tables.lock().expect("nobody panics with the book open");
        tables.push(format!("{name}, {} on {}", wish.guests, wish.day));
        Ok(tables.len())
    }

    fn release(&self, table: usize) {
        self.tables.lock().expect("nobody panics with the book open")[table - 1] = "free".to_owned();
    }
}

/// What has to be settled before a table is booked.
async fn agree(ctx: &Context, wish: &Wish, table: usize) -> Result<()> {
    // A branch: only some are asked.
    if wish.seating == Seating::Terrace && !ctx.elicit::<Confirm>("It may rain. The terrace all the same?").await?.yes {
        return Err(Error::msg("nothing is booked: no terrace"));
    }
    // A confirmation, where "no" has a text of its own.
    match ctx.elicit::<Confirm>(format!("Table {table} for {} on {}?", wish.guests, wish.day)).await {
        Ok(Confirm { yes: true }) => {}
        Ok(_) | Err(AskError::Declined) => return Err(Error::msg("nothing is booked: not confirmed")),
        Err(other) => return Err(other.into()),
    }
    // A page to visit: for what no form may ask, like a card. Not every client can.
    if wish.guests > 6 {
        if !ctx.can_elicit_url() {
            return Err(Error::msg("nothing is booked: for more than 6, call us"));
        }
        let page = format!("https://pay.example.com/deposit?table={table}");
        ctx.elicit_url("Large tables need a deposit.", page).await?.complete().await;
    }
    Ok(())
}

/// The server: one restaurant.
pub fn server() -> Server {
    Server::new("booking", env!("CARGO_PKG_VERSION"))
        .instructions("Ask for a table with `book`; the user answers the rest.")
        .mount(Restaurant::default())
}
