//! A user with the rights that docs/book/replicas.md names, and no others.

use mcp_redis::Redis;
use mcp_runtime::testing::contract;

use crate::server::{Server, patient};

/// The command of the page that creates the user.
pub(crate) fn documented() -> Vec<&'static str> {
    let page = include_str!("../../../docs/book/replicas.md");
    let command =
        page.lines().find(|line| line.starts_with("ACL SETUSER mcp ")).expect("docs/book/replicas.md has the command");
    command.split_whitespace().collect()
}

/// A server with that user, and a connection as that user.
async fn restricted() -> (Server, String) {
    let server = Server::start().await;
    server.command::<()>(&documented()).await;
    let url = format!("redis://mcp:PASSWORD@127.0.0.1:{}/", server.port);
    (server, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documented_rights_are_enough() {
    let (_server, url) = restricted().await;
    let redis: Redis = patient(&url).connect().await.unwrap();
    redis.ping().await.unwrap();
    redis.secret("state").await.unwrap();
    contract::sessions(|| (*redis.sessions()).clone()).await;
    contract::events(|| (*redis.events()).clone()).await;
    contract::inbox(|| (*redis.inbox()).clone()).await;
    contract::leases(|| (*redis.leases()).clone()).await;
    contract::tasks(|| (*redis.tasks()).clone()).await;
    contract::bus(|| (*redis.bus()).clone()).await;
}

#[tokio::test]
async fn documented_rights_are_not_more() {
    let (server, url) = restricted().await;
    server.command::<()>(&["SET", "other:key", "secret"]).await;
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    for command in [
        "GET other:key",
        "SET other:key x",
        "PUBLISH other:changes:0 x",
        "KEYS *",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "MONITOR",
        "CLIENT LIST",
        "SHUTDOWN NOSAVE",
    ] {
        let mut words = command.split(' ');
        let mut request = redis::cmd(words.next().unwrap());
        let refused = request.arg(words.collect::<Vec<_>>()).query_async::<redis::Value>(&mut connection).await;
        assert!(
            refused.as_ref().is_err_and(|error| error.to_string().to_uppercase().contains("NOPERM")),
            "{command}: {refused:?}"
        );
    }
    let own = redis::cmd("SET").arg("mcp:key").arg("x").query_async::<()>(&mut connection).await;
    own.unwrap();
}
