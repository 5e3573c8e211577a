//! An authorization server on a loopback address: metadata, keys, introspection and client credentials, with switches for
//! everything that goes wrong with real ones.
//!
//! It knows nothing of the runtime, whose own tests include this file, too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The client that may introspect.
pub const CLIENT: (&str, &str) = ("resource-server", "s3cret:%");

/// A running authorization server; it ends when dropped.
#[derive(Debug)]
pub struct FakeIssuer {
    /// Its issuer identifier: `http://127.0.0.1:PORT`.
    pub url: String,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The `issuer` of its metadata, if it is another one.
    pub other_issuer: Option<String>,
    /// The status of every response.
    pub status: Option<u16>,
    /// How long it thinks before each response.
    pub delay: Duration,
    /// How many spaces follow its key set.
    pub padding: usize,
    /// Where its key set redirects to.
    pub redirect: Option<String>,
    /// Whether it closes connections without a response.
    pub hangs_up: bool,
    /// Members of its metadata that are others; `null` removes one.
    pub metadata: Value,
    /// Its key set, if it is another one.
    pub keys: Option<String>,
    /// The paths where it has nothing.
    pub missing: Vec<&'static str>,
    /// The `Date` of its responses.
    pub date: Option<&'static str>,
}

#[derive(Debug)]
struct State {
    issuer: String,
    /// All keys it has ever had, each with its id.
    keys: Vec<(String, EcdsaKeyPair)>,
    /// The ids of those that are published.
    published: Vec<String>,
    faults: Faults,
    max_age: Option<u64>,
    requests: Vec<String>,
    connections: usize,
    opaque: HashMap<String, Value>,
}

impl FakeIssuer {
    /// Starts one, with one ES256 key.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            issuer: url.clone(),
            keys: Vec::new(),
            published: Vec::new(),
            faults: Faults::default(),
            max_age: None,
            requests: Vec::new(),
            connections: 0,
            opaque: HashMap::new(),
        }));
        let serving = tokio::spawn(serve(listener, Arc::clone(&state)));
        let issuer = FakeIssuer { url, state, serving };
        issuer.add_key();
        issuer
    }

    /// Publishes a further key, which signs from now on. Returns its id.
    pub fn add_key(&self) -> String {
        let (mut state, random) = (self.state(), SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let id = format!("key-{}", state.keys.len() + 1);
        state.keys.push((id.clone(), key));
        state.published.push(id.clone());
        id
    }

    /// A new key takes the place of all others.
    pub fn rotate(&self) -> String {
        self.state().published.clear();
        self.add_key()
    }

    /// What goes wrong from now on.
    pub fn fail(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Nothing goes wrong any more.
    pub fn recover(&self) {
        self.fail(Faults::default());
    }

    /// `max-age` of its key set.
    pub fn set_max_age(&self, seconds: Option<u64>) {
        self.state().max_age = seconds;
    }

    /// The paths that were asked for so far.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.state().connections
    }

    /// Its key set, as a document.
    pub fn jwks(&self) -> String {
        self.state().jwks().to_string()
    }

    /// An access token for a resource, valid for an hour.
    pub fn access_token(&self, resource: &str, subject: &str, scopes: &str) -> String {
        self.sign(&json!({"aud": resource, "sub": subject, "client_id": "client-1", "scope": scopes}))
    }

    /// A token with these claims; `iss`, `iat` and `exp` are added where they are absent. `null` removes one.
    pub fn sign(&self, claims: &Value) -> String {
        let state = self.state();
        let (id, _) = state.keys.last().unwrap();
        state.sign(&json!({"alg": "ES256", "typ": "at+jwt", "kid": id}), claims)
    }

    /// A token with this header, signed by the newest key.
    pub fn sign_with_header(&self, header: &Value, claims: &Value) -> String {
        self.state().sign(header, claims)
    }

    /// A token that only introspection can read: `claims` are its answer.
    pub fn opaque_token(&self, claims: &Value) -> String {
        let mut state = self.state();
        let token = format!("opaque-{}-{}", state.opaque.len(), now());
        let mut answer = json!({"active": true, "exp": now() + 3600});
        merge(&mut answer, claims);
        state.opaque.insert(token.clone(), answer);
        token
    }

    /// Ends the validity of an opaque token.
    pub fn revoke(&self, token: &str) {
        self.state().opaque.remove(token);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for FakeIssuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl State {
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let mut payload = json!({"iss": self.issuer, "iat": now(), "exp": now() + 3600});
        merge(&mut payload, claims);
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let input = format!("{}.{}", encode(header), encode(&payload));
        let (_, key) = self.keys.last().unwrap();
        let signature = key.sign(&SystemRandom::new(), input.as_bytes()).unwrap();
        format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn jwks(&self) -> Value {
        let published = self.keys.iter().filter(|(id, _)| self.published.contains(id));
        let keys: Vec<Value> = published
            .map(|(id, key)| {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
                json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": id, "x": x, "y": y})
            })
            .collect();
        json!({ "keys": keys })
    }

    /// Status, further headers, body.
    fn respond(&mut self, request: &Request) -> (u16, String, String) {
        self.requests.push(request.path.clone());
        let not_found = (404, String::new(), "{}".to_owned());
        if let Some(status) = self.faults.status {
            return (status, String::new(), "{}".to_owned());
        }
        if self.faults.missing.contains(&&*request.path) {
            return not_found;
        }
        match &*request.path {
            "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration" => {
                (200, String::new(), self.metadata().to_string())
            }
            "/jwks" => match &self.faults.redirect {
                Some(url) => (302, format!("Location: {url}\r\n"), String::new()),
                None => self.key_set(),
            },
            "/moved" => self.key_set(),
            "/introspect" => self.introspect(request),
            "/token" => {
                let (resource, scope) = (request.field("resource"), request.field("scope"));
                let claims = json!({"aud": resource, "sub": "client-1", "client_id": "client-1", "scope": scope});
                let (id, _) = self.keys.last().unwrap();
                let token = self.sign(&json!({"alg": "ES256", "typ": "at+jwt", "kid": id}), &claims);
                let answer = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600});
                (200, "Cache-Control: no-store\r\n".to_owned(), answer.to_string())
            }
            _ => not_found,
        }
    }

    fn metadata(&self) -> Value {
        let own = &self.issuer;
        let mut metadata = json!({
            "issuer": self.faults.other_issuer.as_ref().unwrap_or(own),
            "jwks_uri": format!("{own}/jwks"),
            "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "introspection_endpoint": format!("{own}/introspect"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
        });
        if self.faults.metadata.is_object() {
            merge(&mut metadata, &self.faults.metadata);
        }
        metadata
    }

    fn key_set(&self) -> (u16, String, String) {
        if let Some(keys) = &self.faults.keys {
            return (200, String::new(), keys.clone());
        }
        let age = self.max_age.map(|seconds| format!("Cache-Control: public, max-age={seconds}\r\n"));
        (200, age.unwrap_or_default(), self.jwks().to_string() + &" ".repeat(self.faults.padding))
    }

    fn introspect(&self, request: &Request) -> (u16, String, String) {
        // Both are form-urlencoded before they are joined (RFC 6749 §2.3.1).
        let expected = format!("Basic {}", STANDARD.encode(format!("{}:{}", CLIENT.0, "s3cret%3A%25")));
        let by_post = request.field("client_id") == CLIENT.0 && request.field("client_secret") == CLIENT.1;
        if request.method != "POST" || (request.authorization.as_deref() != Some(&*expected) && !by_post) {
            return (401, String::new(), r#"{"error":"invalid_client"}"#.to_owned());
        }
        let answer = self.opaque.get(&request.field("token")).cloned().unwrap_or_else(|| json!({"active": false}));
        (200, String::new(), answer.to_string())
    }
}

/// A request, as far as it matters.
struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    body: String,
}

impl Request {
    /// A field of the form; empty if it is absent.
    fn field(&self, name: &str) -> String {
        let fields = self.body.split('&').filter_map(|field| field.split_once('='));
        fields.filter(|(key, _)| *key == name).map(|(_, value)| decode(value)).next().unwrap_or_default()
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let code: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&code, 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        lock(&state).connections += 1;
        tokio::spawn(converse(stream, Arc::clone(&state)));
    }
}

async fn converse(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    while let Some(request) = read(&mut stream).await {
        let (delay, hangs_up) = {
            let state = lock(&state);
            (state.faults.delay, state.faults.hangs_up)
        };
        tokio::time::sleep(delay).await;
        if hangs_up {
            lock(&state).requests.push(request.path);
            return;
        }
        let (status, mut headers, body) = lock(&state).respond(&request);
        if let Some(date) = lock(&state).faults.date {
            headers.extend(["Date: ", date, "\r\n"]);
        }
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).next()
    };
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    Some(Request {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        authorization: header("authorization"),
        body: String::from_utf8(bytes[end..end + length].to_vec()).ok()?,
    })
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().unwrap() {
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(key)),
            value => into[key] = value.clone(),
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
