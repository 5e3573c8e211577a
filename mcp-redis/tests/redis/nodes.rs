//! A real cluster of the test's own: primaries that share the slots, and replicas.

use mcp_redis::RedisBuilder;

use crate::server::{Server, eventually, free_port, patient};

const SLOTS: usize = 16_384;

/// A cluster, which ends with the test.
pub(crate) struct Nodes {
    pub(crate) primaries: Vec<Server>,
    pub(crate) options: Vec<String>,
}

impl Nodes {
    /// Starts a cluster of three primaries.
    pub(crate) async fn start(options: &[&str]) -> Self {
        let own = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
        let options: Vec<String> = own.iter().chain(options).map(ToString::to_string).collect();
        let mut primaries: Vec<Server> = Vec::new();
        for index in 0..3 {
            let node = start_node(&options).await;
            let slots: Vec<String> =
                (index * SLOTS / 3..(index + 1) * SLOTS / 3).map(|slot| slot.to_string()).collect();
            let slots = slots.iter().map(String::as_str);
            node.command::<()>(&["CLUSTER", "ADDSLOTS"].into_iter().chain(slots).collect::<Vec<_>>()).await;
            node.command::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]).await;
            if let Some(first) = primaries.first() {
                node.command::<()>(&["CLUSTER", "MEET", "127.0.0.1", &first.port.to_string()]).await;
            }
            primaries.push(node);
        }
        let nodes = Nodes { primaries, options };
        for node in &nodes.primaries {
            eventually("a cluster", async || nodes.is_joined(node, 3).await).await;
        }
        nodes
    }

    /// Whether a node thinks that the cluster works, and knows as many nodes.
    async fn is_joined(&self, node: &Server, count: usize) -> bool {
        let info: String = node.command(&["CLUSTER", "INFO"]).await;
        let known = format!("cluster_known_nodes:{count}");
        info.contains("cluster_state:ok") && info.lines().any(|line| line.trim() == known)
    }

    /// Starts a replica of a primary, and waits until it has all of it.
    pub(crate) async fn replica_of(&self, primary: &Server) -> Server {
        let replica = start_node(&self.options).await;
        replica.command::<()>(&["CLUSTER", "MEET", "127.0.0.1", &primary.port.to_string()]).await;
        let count = self.primaries.len() + 1;
        for node in self.primaries.iter().chain([&replica]) {
            eventually("one more node", async || self.is_joined(node, count).await).await;
        }
        replica.command::<()>(&["CLUSTER", "REPLICATE", &id(primary).await]).await;
        eventually("replication", async || {
            replica.command::<String>(&["INFO", "replication"]).await.contains("master_link_status:up")
        })
        .await;
        eventually("the replica is known", async || {
            primary.command::<String>(&["INFO", "replication"]).await.contains("state=online")
        })
        .await;
        replica
    }

    /// The URL of two of the nodes.
    pub(crate) fn url(&self) -> String {
        format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}/", self.primaries[0].port, self.primaries[1].port)
    }

    pub(crate) fn builder(&self) -> RedisBuilder {
        patient(&self.url())
    }

    /// The slot of a key.
    pub(crate) async fn slot_of(&self, key: &str) -> String {
        self.primaries[0].command::<u16>(&["CLUSTER", "KEYSLOT", key]).await.to_string()
    }
}

/// The id of a node.
pub(crate) async fn id(node: &Server) -> String {
    node.command(&["CLUSTER", "MYID"]).await
}

/// A node listens on a second port, 10,000 above the first.
async fn start_node(options: &[String]) -> Server {
    for _ in 0..100 {
        let port = free_port();
        if port < 55_000
            && let Some(node) = Server::on(port, options.to_vec()).await
        {
            return node;
        }
    }
    panic!("no node of a cluster starts");
}

/// A slot on its way from one primary to another.
pub(crate) struct Moving<'a> {
    nodes: &'a Nodes,
    slot: String,
    from: &'a Server,
    to: &'a Server,
}

impl<'a> Moving<'a> {
    /// Begins to move the slot of a key.
    pub(crate) async fn begin(nodes: &'a Nodes, key: &str, from: &'a Server, to: &'a Server) -> Self {
        let slot = nodes.slot_of(key).await;
        to.command::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from).await]).await;
        from.command::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to).await]).await;
        Moving { nodes, slot, from, to }
    }

    /// Moves a key.
    pub(crate) async fn carry(&self, key: &str) {
        let port = self.to.port.to_string();
        self.from.command::<()>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).await;
    }

    /// Moves the rest.
    pub(crate) async fn end(self) {
        for key in self.from.command::<Vec<String>>(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "1000"]).await {
            self.carry(&key).await;
        }
        for node in [self.to, self.from].into_iter().chain(&self.nodes.primaries) {
            node.command::<()>(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &id(self.to).await]).await;
        }
    }
}
