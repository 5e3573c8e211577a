//! [`Options`]: the parsed attribute of a handler, and the keys each kind allows.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::{Expr, Ident, LitStr, Path};

use super::layer::layers;
use super::limits::{self, Limits};
use super::scopes::scopes;
use super::value::{
    Name, audience, duration, expression, flag, ident, json, list, name, path, priority, requires, scope, size, string,
    strings, task,
};
use super::{Entries, Entry};
use crate::errors::Errors;
use crate::handler::Kind;
use crate::name::closest;

/// The parsed attribute of a handler.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) krate: Option<Path>,
    pub(crate) name: Option<Name>,
    /// The name of the type that registers a function, instead of the function's.
    pub(crate) item: Option<Ident>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) icons: Vec<LitStr>,
    pub(crate) meta: Option<TokenStream>,
    pub(crate) blocking: Option<Span>,
    pub(crate) timeout: Option<(Span, u64)>,
    /// `read_only`, `destructive`, `idempotent`, `open_world`, as given.
    pub(crate) hints: Vec<(Ident, bool)>,
    /// Whether calls must become tasks. Without it, they cannot.
    pub(crate) task: Option<(Span, bool)>,
    /// Whether the handler asks questions within the call before it starts its task.
    pub(crate) asks_first: Option<Span>,
    /// Whether another replica runs the task again when its own dies.
    pub(crate) durable: Option<Span>,
    pub(crate) uri: Option<LitStr>,
    pub(crate) mime: Option<LitStr>,
    /// `user`, `assistant`
    pub(crate) audience: Vec<LitStr>,
    pub(crate) priority: Option<f64>,
    pub(crate) last_modified: Option<LitStr>,
    pub(crate) size: Option<(Span, Size)>,
    pub(crate) subscribe: bool,
    /// How long clients may cache the contents, in milliseconds.
    pub(crate) ttl: Option<u64>,
    /// Whether a cache may be shared between users.
    pub(crate) public: Option<(Span, bool)>,
    /// The predicate that decides which callers see the handler.
    pub(crate) visible_if: Option<Expr>,
    /// The capabilities the client must have: variants of the runtime's `ClientCapability`.
    pub(crate) requires: Vec<&'static str>,
    /// The scopes the caller must have.
    pub(crate) scopes: Vec<LitStr>,
    /// How often it is called, and how many calls run at once.
    pub(crate) limits: Limits,
    /// The layers around its calls, the outermost first.
    pub(crate) layers: Vec<Expr>,
    /// The keys so far, in all attributes of the item.
    seen: Vec<String>,
    /// Whether parsing failed somewhere; a key that seems to be missing must not be reported then.
    pub(crate) broken: bool,
}

/// The size of a resource.
pub(crate) enum Size {
    Given(u64),
    /// To be measured from the contents.
    Counted,
}

const COMMON: [&str; 13] = [
    "name",
    "title",
    "description",
    "icon",
    "meta",
    "blocking",
    "timeout",
    "visible_if",
    "requires",
    "scopes",
    "layer",
    "item",
    "crate",
];
/// The common keys that apply to functions only.
const FUNCTION: [&str; 7] = ["blocking", "timeout", "visible_if", "requires", "scopes", "layer", "item"];
const TOOL: [&str; 7] = ["read_only", "destructive", "idempotent", "open_world", "task", "asks_first", "durable"];
const RESOURCE: [&str; 9] =
    ["uri", "mime", "audience", "priority", "last_modified", "size", "subscribe", "ttl", "cache"];

/// The keys that an attribute of this kind allows.
pub(crate) fn keys(kind: Kind) -> Vec<&'static str> {
    let own: &[&str] = match kind {
        Kind::Tool => &TOOL,
        Kind::Prompt => &[],
        Kind::Resource | Kind::Derive => &RESOURCE,
    };
    let common = COMMON.iter().filter(|key| kind != Kind::Derive || !FUNCTION.contains(key));
    let limits: &[&str] = if kind == Kind::Derive { &[] } else { &limits::KEYS };
    common.chain(own).chain(limits).copied().collect()
}

impl Options {
    /// Parses an attribute, and reports every key that is unknown, duplicate or of the wrong type.
    pub(crate) fn read(kind: Kind, tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Options::default();
        match errors.handle(syn::parse2::<Entries>(tokens)) {
            Some(all) => options.add(kind, all, errors),
            None => options.broken = true,
        }
        options
    }

    pub(crate) fn add(&mut self, kind: Kind, all: Entries, errors: &mut Errors) {
        if let Some(literal) = all.positional {
            match kind {
                Kind::Resource => {
                    self.uri = Some(literal);
                    self.seen.push("uri".to_owned());
                }
                Kind::Derive => {
                    self.broken = true;
                    errors.push_spanned(&literal, format!("write `uri = {}`", literal.token()));
                }
                Kind::Tool | Kind::Prompt => {
                    errors.push_spanned(&literal, format!("write `name = {}` or `description = …`", literal.token()));
                }
            }
        }
        for entry in all.entries {
            let key = entry.key.unraw().to_string();
            if !keys(kind).contains(&&*key) {
                errors.push_at(entry.key.span(), unknown(kind, &key));
            } else if self.seen.contains(&key) {
                errors.push_at(entry.key.span(), format!("`{key}` is given twice"));
            } else {
                let result = self.set(&key, entry);
                self.broken |= errors.handle(result).is_none();
            }
            self.seen.push(key);
        }
    }

    fn set(&mut self, key: &str, entry: Entry) -> syn::Result<()> {
        match key {
            "crate" => self.krate = Some(path(entry)?),
            "name" => self.name = Some(name(entry)?),
            "item" => self.item = Some(ident(entry)?),
            "title" => self.title = Some(string(entry)?),
            "description" => self.description = Some(string(entry)?),
            "icon" => self.icons = strings(entry)?,
            "meta" => self.meta = Some(json(entry)?),
            "blocking" => {
                let span = entry.key.span();
                self.blocking = flag(entry)?.then_some(span);
            }
            "timeout" => self.timeout = Some((entry.key.span(), duration(entry)?)),
            "uri" => self.uri = Some(string(entry)?),
            "mime" => self.mime = Some(string(entry)?),
            "audience" => self.audience = audience(entry)?,
            "priority" => self.priority = Some(priority(entry)?),
            "last_modified" => self.last_modified = Some(string(entry)?),
            "subscribe" => self.subscribe = flag(entry)?,
            "ttl" => self.ttl = Some(duration(entry)?),
            "cache" => {
                let span = entry.key.span();
                self.public = Some((span, scope(entry)?));
            }
            "visible_if" => {
                let form = "expected a function of the context: `visible_if = is_admin`";
                self.visible_if = Some(expression(entry, form)?);
            }
            "requires" => self.requires = requires(entry)?,
            "scopes" => self.scopes = scopes(entry)?,
            "layer" => self.layers = layers(entry)?,
            _ if limits::KEYS.contains(&key) => self.limits.set(key, entry)?,
            "task" => self.task = Some((entry.key.span(), task(entry)?)),
            "asks_first" => {
                let span = entry.key.span();
                self.asks_first = flag(entry)?.then_some(span);
            }
            "durable" => {
                let span = entry.key.span();
                self.durable = flag(entry)?.then_some(span);
            }
            "size" => self.size = Some((entry.key.span(), size(entry)?)),
            _ => {
                let hint = entry.key.clone();
                self.hints.push((hint, flag(entry)?));
            }
        }
        Ok(())
    }
}

/// The error for an unknown key: the attribute it belongs to, the likely spelling, or all valid keys.
fn unknown(kind: Kind, key: &str) -> String {
    let own = keys(kind);
    if kind == Kind::Derive && (COMMON.contains(&key) || limits::KEYS.contains(&key)) {
        return format!("`{key}` is for functions: `#[resource(…, {key} …)]` on an `fn`");
    }
    let other = [Kind::Tool, Kind::Prompt, Kind::Resource].into_iter().find(|other| keys(*other).contains(&key));
    if let Some(other) = other {
        return format!("`{key}` belongs to `#[{}]`", other.attribute());
    }
    if crate::param::keys().contains(&key) {
        return format!("`{key}` belongs to an argument: `#[arg({key} = …)]`");
    }
    match closest(key, own.iter().copied()) {
        Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
        None => format!("unknown key `{key}`; {}", list(&own)),
    }
}
