//! Row 45: a macro call in a `#[handlers]` block.
use mcp_runtime::prelude::*;

macro_rules! getter {
    ($($name:ident)*) => {$(
        #[tool]
        fn $name(&self) -> String {
            self.$name.clone()
        }
    )*};
}

struct App {
    name: String,
    theme: String,
}

#[handlers]
impl App {
    getter!(name theme);

    #[tool]
    fn both(&self) -> String {
        format!("{} {}", self.name, self.theme)
    }
}

struct Only {
    name: String,
}

#[handlers]
impl Only {
    getter! { name }
}

fn main() {
    let app = App { name: String::new(), theme: String::new() };
    let _ = Server::new("s", "1").mount(app).mount(Only { name: String::new() });
}
