//! The state of `#[handlers]`: generic types, and receivers other than `&self`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use mcp_runtime::{Json, prelude::*};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::connect;

/// Without `Send`, `Sync` or `'static`: what is mounted must have them, the trait need not say so.
trait Store {
    type Key: DeserializeOwned + JsonSchema + Send + 'static;

    fn find(&self, key: &Self::Key) -> Option<&str>;
}

struct Words(Vec<String>);

impl Store for Words {
    type Key = usize;

    fn find(&self, key: &usize) -> Option<&str> {
        self.0.get(*key).map(String::as_str)
    }
}

struct Pairs(BTreeMap<String, String>);

impl Store for Pairs {
    type Key = String;

    fn find(&self, key: &String) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

struct App<S> {
    store: S,
}

#[handlers]
impl<S: Store> App<S> {
    #[tool]
    fn find(&self, key: S::Key) -> Option<&str> {
        self.store.find(&key)
    }

    #[tool(visible_if = Self::always)]
    async fn later(&self, ctx: &Context, key: S::Key) -> Result<String> {
        assert!(ctx.client_name().is_some());
        Ok(self.store.find(&key).unwrap_or("nothing").to_owned())
    }

    #[tool(blocking)]
    fn slowly(&self, key: S::Key) -> String {
        self.store.find(&key).unwrap_or("nothing").to_owned()
    }

    #[resource("store://{key}")]
    fn contents(&self, #[arg(complete = Self::keys)] key: String) -> String {
        format!("contents of {key}")
    }

    #[prompt]
    fn ask(&self) -> &'static str {
        std::any::type_name::<S>()
    }

    fn always(&self, _: &Context) -> bool {
        true
    }

    fn keys(&self, _: &str) -> Vec<String> {
        vec!["a".to_owned()]
    }
}

#[tokio::test]
async fn state_may_be_generic() {
    let words = App { store: Words(vec!["zero".to_owned(), "one".to_owned()]) };
    let client = connect(Server::new("test", "1.0.0").mount(words)).await;
    for name in ["find", "later", "slowly"] {
        assert_eq!(client.call(name, json!({"key": 1})).await.unwrap().text(), "one", "{name}");
    }
    assert!(client.get_prompt("ask", json!({})).await.unwrap().text().ends_with("Words"));
    assert_eq!(client.read("store://a").await.unwrap().text(), "contents of a");

    let pairs = App { store: Pairs([("a".to_owned(), "b".to_owned())].into()) };
    let client = connect(Server::new("test", "1.0.0").mount(pairs)).await;
    assert_eq!(client.call("find", json!({"key": "a"})).await.unwrap().text(), "b");
    let list = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(list["tools"][0]["inputSchema"]["properties"]["key"]["type"], "string");
}

struct Ring<T, const N: usize> {
    slots: Mutex<[T; N]>,
}

#[handlers]
impl<T, const N: usize> Ring<T, N>
where
    T: Copy + Debug + Serialize + DeserializeOwned + JsonSchema + Send + 'static,
{
    /// How many there are.
    #[tool]
    fn capacity() -> usize {
        N
    }

    #[tool]
    fn put(&self, at: usize, value: T) -> String {
        let mut slots = self.slots.lock().unwrap();
        slots[at % N] = value;
        format!("{slots:?}")
    }

    #[tool]
    async fn get(&self, at: usize) -> Json<T> {
        Json(self.slots.lock().unwrap()[at % N])
    }
}

#[tokio::test]
async fn state_may_have_const_parameters_and_where_clauses() {
    let client = connect(Server::new("test", "1.0.0").mount(Ring { slots: Mutex::new([0_u8; 3]) })).await;
    assert_eq!(client.call("capacity", json!({})).await.unwrap().text(), "3");
    assert_eq!(client.call("put", json!({"at": 4, "value": 7})).await.unwrap().text(), "[0, 7, 0]");
    assert_eq!(client.call("get", json!({"at": 1})).await.unwrap().text(), "7");
}

struct Shared {
    name: String,
}

#[handlers]
impl Shared {
    #[tool]
    fn sync(self: Arc<Self>) -> String {
        self.name.clone()
    }

    #[tool]
    async fn spawned(self: std::sync::Arc<Self>, suffix: String) -> Result<String> {
        Ok(tokio::spawn(async move { format!("{}{suffix}", self.name) }).await?)
    }

    #[tool(blocking)]
    fn slowly(self: Arc<Self>) -> String {
        std::thread::spawn(move || self.name.clone()).join().unwrap()
    }

    #[tool]
    async fn borrowed(self: &Arc<Self>) -> usize {
        Arc::strong_count(self)
    }

    #[prompt]
    fn ask(mut self: Arc<Self>) -> String {
        Arc::get_mut(&mut self).map_or_else(|| "shared".to_owned(), |own| own.name.clone())
    }

    #[resource("shared://{id}")]
    async fn contents(self: Arc<Shared>, id: u8) -> String {
        format!("{} {id}", self.name)
    }
}

#[tokio::test]
async fn receivers_may_be_arcs() {
    let client = connect(Server::new("test", "1.0.0").mount(Shared { name: "it".to_owned() })).await;
    assert_eq!(client.call("sync", json!({})).await.unwrap().text(), "it");
    assert_eq!(client.call("spawned", json!({"suffix": "s"})).await.unwrap().text(), "its");
    assert_eq!(client.call("slowly", json!({})).await.unwrap().text(), "it");
    assert_ne!(client.call("borrowed", json!({})).await.unwrap().text(), "0");
    assert_eq!(client.get_prompt("ask", json!({})).await.unwrap().text(), "shared");
    assert_eq!(client.read("shared://7").await.unwrap().text(), "it 7");
}
