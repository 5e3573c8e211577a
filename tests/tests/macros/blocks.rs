//! `#[handlers]`: state is `self`.

use std::sync::atomic::{AtomicI64, Ordering};

use mcp_runtime::{Handlers, Json, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connect;

struct Counter {
    value: AtomicI64,
    name: &'static str,
}

impl Counter {
    fn new(name: &'static str) -> Self {
        Counter { value: AtomicI64::new(0), name }
    }
}

#[handlers]
impl Counter {
    const STEP: i64 = 1;

    /// Count.
    #[tool(idempotent = false)]
    fn increment(&self, #[arg(default = Self::STEP)] by: i64) -> i64 {
        self.helper(by)
    }

    /// Count later.
    #[tool]
    async fn later(&self, ctx: &Context, by: i64) -> String {
        tokio::task::yield_now().await;
        format!("{} {}", self.increment(by), ctx.client_name().is_some())
    }

    /// Count elsewhere.
    #[tool(blocking)]
    fn slowly(&self, by: i64, ctx: &Context) -> String {
        format!("{} {}", self.increment(by), ctx.client_name().is_some())
    }

    /// An associated function is a handler, too.
    #[tool]
    fn version() -> &'static str {
        "1.0"
    }

    #[tool]
    async fn twice(n: i64) -> i64 {
        n * 2
    }

    /// The count.
    #[resource("counter://value")]
    fn value(&self) -> String {
        self.value.load(Ordering::Relaxed).to_string()
    }

    /// Multiples.
    #[resource("counter://{times}/{name}")]
    async fn multiple(&self, name: String, times: i64) -> String {
        format!("{name} {}", self.value.load(Ordering::Relaxed) * times)
    }

    /// Ask for more.
    #[prompt(title = "More")]
    async fn more(&self, how_many: Option<u8>) -> String {
        format!("{}: count {}", self.name, how_many.unwrap_or(1))
    }

    fn helper(&self, by: i64) -> i64 {
        self.value.fetch_add(by, Ordering::Relaxed) + by
    }
}

#[tokio::test]
async fn methods_share_their_state() {
    let client = connect(Server::new("test", "1").mount(Counter::new("a"))).await;
    let call = async |name: &str, arguments: serde_json::Value| client.call(name, arguments).await.unwrap().text();
    assert_eq!(call("increment", json!({})).await, "1");
    assert_eq!(call("increment", json!({"by": 4})).await, "5");
    assert_eq!(call("later", json!({"by": 5})).await, "10 true");
    assert_eq!(call("slowly", json!({"by": 1})).await, "11 true");
    assert_eq!(call("version", json!({})).await, "1.0");
    assert_eq!(call("twice", json!({"n": 4})).await, "8");
    assert_eq!(client.read("counter://value").await.unwrap().text(), "11");
    assert_eq!(client.read("counter://3/x").await.unwrap().text(), "x 33");
    assert_eq!(client.get_prompt("more", json!({"how_many": "2"})).await.unwrap().text(), "a: count 2");
    let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["increment", "later", "slowly", "version", "twice"], "in the order of the block");
}

#[tokio::test]
async fn methods_stay_callable() {
    let counter = Counter::new("a");
    assert_eq!(counter.increment(2), 2);
    assert_eq!(Counter::version(), "1.0");
    assert_eq!(Counter::twice(2).await, 4);
    assert_eq!(counter.more(None).await, "a: count 1");
}

#[tokio::test]
async fn mount_as_prefixes_names() {
    struct Other;

    #[handlers]
    impl Other {
        #[tool]
        fn version(&self) -> &'static str {
            "other"
        }

        #[prompt(name = "more")]
        fn ask(&self) -> &'static str {
            "other"
        }

        #[resource("other://{id}")]
        fn read(&self, id: String) -> String {
            id
        }
    }

    let server = Server::new("test", "1").mount(Counter::new("plain")).mount_as("first", Other).mount_as(
        "second",
        Handlers::new().tool({
            #[tool]
            fn lonely() {}
            let [lonely] = tools![lonely];
            lonely
        }),
    );
    let client = connect(server).await;
    let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["increment", "later", "slowly", "version", "twice", "first_version", "second_lonely"]);
    assert_eq!(client.call("first_version", json!({})).await.unwrap().text(), "other");
    assert_eq!(client.call("version", json!({})).await.unwrap().text(), "1.0");
    assert_eq!(client.get_prompt("first_more", json!({})).await.unwrap().text(), "other");
    assert_eq!(client.read("other://7").await.unwrap().text(), "7");
    let templates = client.list_templates().await.unwrap();
    assert_eq!(templates[1].name, "first_read");
    assert_eq!(templates[1].uri_template, "other://{id}");
}

#[tokio::test]
async fn two_values_of_one_type_can_be_mounted() {
    struct Store(&'static str);

    #[handlers]
    impl Store {
        #[tool]
        fn name(&self) -> &'static str {
            self.0
        }
    }

    let server = Server::new("test", "1").mount_as("a", Store("first")).mount_as("b", Store("second"));
    let client = connect(server).await;
    assert_eq!(client.call("a_name", json!({})).await.unwrap().text(), "first");
    assert_eq!(client.call("b_name", json!({})).await.unwrap().text(), "second");
}

trait Store {
    type Key;
    const LIMIT: u32;
}

#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
struct Settings {
    theme: String,
}

impl Store for Settings {
    type Key = u64;
    const LIMIT: u32 = 3;
}

#[handlers]
impl Settings {
    /// Types that name `Self`.
    #[tool]
    fn merge(
        &self,
        other: Self,
        #[arg(default = vec![Self::default()])] more: Vec<Self>,
        key: Option<<Self as Store>::Key>,
        #[arg(default = <Self as Store>::LIMIT)] limit: u32,
    ) -> Json<Self> {
        let theme = format!("{}{}{}{:?}{limit}", self.theme, other.theme, more.len(), key);
        Json(Self { theme })
    }

    #[tool]
    async fn fallible(&self) -> Result<Json<Self>> {
        Ok(Json(self.clone()))
    }
}

#[tokio::test]
async fn self_type_can_be_used_in_signatures() {
    let client = connect(Server::new("test", "1").mount(Settings { theme: "dark".into() })).await;
    let merged = client.call("merge", json!({"other": {"theme": "-light"}, "key": 5})).await.unwrap();
    assert_eq!(merged.structured::<Settings>().unwrap().theme, "dark-light1Some(5)3");
    let same = client.call("fallible", json!({})).await.unwrap();
    assert_eq!(same.structured::<Settings>().unwrap().theme, "dark");
}

struct Generic<T>(T);

#[handlers]
impl Generic<String> {
    #[tool]
    fn show(&self) -> String {
        self.0.clone()
    }
}

mod elsewhere {
    #[derive(Debug)]
    pub(super) struct Far(pub(super) i64);
}

#[handlers]
impl elsewhere::Far {
    #[tool]
    fn distance(&self) -> i64 {
        self.0
    }
}

#[tokio::test]
async fn concrete_generics_and_foreign_types_can_be_mounted() {
    let server = Server::new("test", "1").mount(Generic("text".to_owned())).mount(elsewhere::Far(7));
    let client = connect(server).await;
    assert_eq!(client.call("show", json!({})).await.unwrap().text(), "text");
    assert_eq!(client.call("distance", json!({})).await.unwrap().text(), "7");
}

#[tool]
#[cfg(any())]
fn absent_below(missing: NoSuchType) -> NoSuchType {}

#[cfg(any())]
#[tool]
fn absent_above(missing: NoSuchType) -> NoSuchType {}

/// Present.
#[tool]
#[cfg(not(any()))]
fn present() -> &'static str {
    "here"
}

#[prompt]
#[cfg(any())]
fn absent_prompt(missing: NoSuchType) -> NoSuchType {}

#[resource("no://such/{missing}")]
#[cfg(any())]
fn absent_resource(missing: NoSuchType) -> NoSuchType {}

struct Conditional;

#[handlers]
impl Conditional {
    #[cfg(any())]
    #[tool]
    fn above(&self, missing: NoSuchType) -> NoSuchType {}

    #[tool]
    #[cfg(any())]
    fn below(&self, missing: NoSuchType) -> NoSuchType {}

    #[tool]
    #[cfg(not(any()))]
    fn there(&self) -> &'static str {
        "there"
    }

    #[tool]
    #[cfg(any())]
    fn either(&self, missing: NoSuchType) -> NoSuchType {}

    /// The same name, under the opposite condition.
    #[tool]
    #[cfg(not(any()))]
    fn either(&self) -> &'static str {
        "either"
    }

    #[prompt]
    #[cfg(any())]
    fn prompt(&self, missing: NoSuchType) -> NoSuchType {}

    #[resource("no://such/{missing}")]
    #[cfg(any())]
    fn resource(&self, missing: NoSuchType) -> NoSuchType {}
}

#[handlers]
#[cfg(any())]
impl NoSuchType {
    #[tool]
    fn missing(&self) {}
}

#[cfg(any())]
#[handlers]
impl NoSuchType {
    #[tool]
    fn missing(&self) {}
}

#[tokio::test]
async fn cfg_removes_handlers() {
    let client = connect(Server::new("test", "1").tools(tools![present]).mount(Conditional)).await;
    let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["present", "there", "either"]);
    assert_eq!(client.call("either", json!({})).await.unwrap().text(), "either");
}

#[test]
#[should_panic(expected = "there are two tools `increment`")]
fn duplicate_tool_name_panics_on_mount() {
    let _ = Server::new("test", "1").mount(Counter::new("a")).mount(Counter::new("b")).into_service();
}
