//! Row 50: rates, bursts, calls at once, heartbeats.
use mcp_runtime::prelude::*;

#[tool(rate = "10")]
fn no_period() {}

#[tool(rate = 10)]
fn not_a_string() {}

#[tool(rate = "ten/s")]
fn not_a_number() {}

#[tool(rate = "10/m")]
fn minutes_or_months() {}

#[tool(rate = "0/s")]
fn never() {}

#[tool(rate = "10/day")]
fn unknown_period() {}

#[tool(rate)]
fn no_value() {}

#[tool(burst = 20)]
fn burst_of_what() {}

#[tool(rate = "10/s", burst = 0)]
fn no_burst() {}

#[tool(rate = "10/s", burst = "20")]
fn burst_as_text() {}

#[tool(max_concurrent = 0)]
async fn nobody() {}

#[tool(max_concurrent = 4)]
fn cannot_wait() {}

#[tool(heartbeat = "10s")]
fn over_at_once() {}

#[tool(heartbeat = "100ms")]
async fn too_often() {}

#[tool(heartbeat = 10)]
async fn no_unit() {}

#[tool(max_concurent = 4)]
async fn misspelt() {}

#[derive(Resource)]
#[resource(uri = "note://{id}", rate = "10/s")]
struct Note {
    id: u64, #[resource(text)]
    body: String,
}

struct Notes;

#[handlers(burst = 3)]
impl Notes {
    #[tool]
    fn note(&self) {}
}

struct Slow;

#[handlers(rate = "10 a second", burst = 3, max_concurrent = 4)]
impl Slow {
    #[tool]
    fn slow(&self) {}
}

fn main() {
    let _ = tools![
        no_period, not_a_string, not_a_number, minutes_or_months, never, unknown_period, no_value, burst_of_what,
        no_burst, burst_as_text, nobody, cannot_wait, over_at_once, too_often, no_unit, misspelt
    ];
    let _ = Server::new("s", "1").mount(Notes).mount(Slow);
}
