//! The files for Docker name the same things: services, ports, the program. Docker is not needed for that.

use std::collections::BTreeSet;

const COMPOSE: &str = include_str!("../compose.yaml");
const NGINX: &str = include_str!("../nginx.conf");
const DOCKERFILE: &str = include_str!("../Dockerfile");

/// The names of the services: keys that are indented by two below `services:`.
fn services() -> BTreeSet<&'static str> {
    let services = COMPOSE.split("\nservices:\n").nth(1).unwrap().split("\nvolumes:\n").next().unwrap();
    let names = services.lines().filter_map(|line| line.strip_prefix("  ")?.split(':').next());
    names.filter(|name| !name.is_empty() && !name.starts_with([' ', '#'])).collect()
}

#[test]
fn proxy_knows_every_replica() {
    let balanced: BTreeSet<_> =
        NGINX.lines().filter_map(|line| line.trim().strip_prefix("server ")?.strip_suffix(":8080;")).collect();
    assert_eq!(balanced.len(), 3);
    let others = BTreeSet::from(["redis", "proxy"]);
    assert_eq!(services(), balanced.union(&others).copied().collect());
    for replica in balanced {
        assert!(COMPOSE.contains(&format!("REPLICA: {replica} }}")), "{replica}");
    }
    assert!(DOCKERFILE.contains(r#""--http", "0.0.0.0:8080""#) && DOCKERFILE.contains("EXPOSE 8080"));
}

#[test]
fn image_has_this_program() {
    let program = env!("CARGO_PKG_NAME");
    assert!(DOCKERFILE.contains(&format!("cp target/release/{program} /server")), "{program}");
}
