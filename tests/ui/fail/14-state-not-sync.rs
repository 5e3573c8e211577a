//! Row 14: state that calls cannot share. For now one error for sync and one for async methods.
use std::cell::RefCell;

use mcp_runtime::prelude::*;

struct Counter {
    value: RefCell<i64>,
}

#[handlers]
impl Counter {
    #[tool]
    fn increment(&self) -> i64 {
        *self.value.borrow_mut() += 1;
        *self.value.borrow()
    }

    #[tool]
    async fn get(&self) -> i64 {
        *self.value.borrow()
    }

    #[prompt]
    fn describe(&self) -> String {
        self.value.borrow().to_string()
    }
}

fn main() {
    let _ = Server::new("s", "1").mount(Counter { value: RefCell::new(0) });
}
