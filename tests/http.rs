//! The HTTP transports, over real connections: what is asked byte for byte, and what is answered.

#[path = "http/abuse.rs"]
mod abuse;
#[path = "http/accept.rs"]
mod accept;
#[path = "http/answers.rs"]
mod answers;
#[path = "http/asking.rs"]
mod asking;
#[path = "http/bodies.rs"]
mod bodies;
#[path = "http/caps.rs"]
mod caps;
#[path = "http/changes.rs"]
mod changes;
#[path = "http/connections.rs"]
mod connections;
#[path = "http/elsewhere.rs"]
mod elsewhere;
#[path = "http/ending.rs"]
mod ending;
#[path = "http/eras.rs"]
mod eras;
#[path = "http/fleet.rs"]
mod fleet;
#[path = "http/gone.rs"]
mod gone;
#[path = "http/guards.rs"]
mod guards;
#[path = "http/headers.rs"]
mod headers;
#[path = "http/house.rs"]
mod house;
#[path = "http/out_of_order.rs"]
mod out_of_order;
#[path = "http/questions.rs"]
mod questions;
#[path = "http/replicas.rs"]
mod replicas;
#[path = "http/resuming.rs"]
mod resuming;
#[path = "http/rounds.rs"]
mod rounds;
#[path = "http/sessions.rs"]
mod sessions;
#[path = "http/tasks.rs"]
mod tasks;
#[path = "http/tower.rs"]
mod tower;
