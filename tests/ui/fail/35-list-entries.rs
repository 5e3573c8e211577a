//! Row 35: entries of a list that are no names of functions.
use mcp_runtime::prelude::*;

mod text {
    use mcp_runtime::prelude::*;

    #[tool]
    pub fn count() {}
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

struct App;

impl App {
    fn new() -> Self {
        App
    }

    fn search(&self) {}

    fn tools() -> [Tool; 2] {
        tools![Self::search, add]
    }
}

fn main() {
    App::new().search();
    let [..] = App::tools();
    let _ = Server::new("s", "1")
        .tools(tools![App::search, add])
        .tools(tools![App::new(), text::count()])
        .tools(tools![add(1, 2)])
        .tools(tools!["add", "text::count", "a b", 5])
        .tools(tools![&add, add::<i64>, text::<i64>::count])
        .tools(tools![|a: i64| a, <App as Into<App>>::into])
        .prompts(prompts!["greet", 'g', || "hi"])
        .resources(resources![add(), "docs://manual"]);
    let [add, sub] = tools![add(), text::count];
}
