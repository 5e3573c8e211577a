//! Row 33: mounting what has no `#[handlers]`, adding what is no resource.
use mcp_runtime::prelude::*;

struct Plain;

impl Plain {
    fn helper(&self) {}
}

fn main() {
    Plain.helper();
    let _ = Server::new("s", "1").mount(Plain).mount_as("p", Plain).resource(Plain).resources([Plain]);
}
