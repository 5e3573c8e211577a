//! The contracts of the runtime, against a real server.

use mcp_redis::Redis;
use mcp_runtime::testing::contract;

use crate::server::Server;

/// Handles with and without options.
async fn handles(server: &Server) -> [Redis; 2] {
    let sealed = server.builder().prefix("notes:1").seal_key(&[7; 32]);
    [server.connect().await, sealed.connect().await.unwrap()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_keep_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::sessions(|| (*redis.sessions()).clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_keep_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::events(|| (*redis.events()).clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inbox_keeps_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::inbox(|| (*redis.inbox()).clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_keep_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::leases(|| (*redis.leases()).clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_keep_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::tasks(|| (*redis.tasks()).clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bus_keeps_the_contract() {
    let server = Server::start().await;
    for redis in handles(&server).await {
        contract::bus(|| (*redis.bus()).clone()).await;
    }
}
