//! The grammar inside the parentheses: `key`, `key = value`, and a URI in front for resources.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token};

use crate::errors::Errors;
use crate::handler::Kind;
use crate::name::closest;

/// One `key` or `key = value`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Option<Value>,
}

/// What stands behind a `=`.
pub(crate) enum Value {
    Expr(Expr),
    /// A JSON object in braces.
    Json(TokenStream),
}

/// All of an attribute: the literal in front, where there is one, and the entries.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) positional: Option<LitStr>,
    pub(crate) entries: Vec<Entry>,
}

impl Parse for Entries {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut all = Entries::default();
        if input.peek(LitStr) {
            all.positional = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        while !input.is_empty() {
            all.entries.push(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(all)
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            return Err(input.error("expected a key; a URI stands first, any other text behind a key"));
        }
        let key = Ident::parse_any(input)?;
        let Some(equals) = input.parse::<Option<Token![=]>>()? else {
            if input.is_empty() || input.peek(Token![,]) {
                return Ok(Entry { key, value: None });
            }
            return Err(input.error(format!("expected `,`, or `=` and a value: `{key} = …`")));
        };
        if input.is_empty() {
            return Err(syn::Error::new(equals.span, format!("expected a value: `{key} = …`")));
        }
        let value = if key == "meta" && input.peek(syn::token::Brace) {
            Value::Json(input.parse::<proc_macro2::Group>()?.stream())
        } else {
            Value::Expr(ungrouped(input.parse()?))
        };
        Ok(Entry { key, value: Some(value) })
    }
}

/// What a `$literal` of `macro_rules!` stands for: it arrives in a group nobody wrote.
pub(crate) fn ungrouped(mut expr: Expr) -> Expr {
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    expr
}

/// What a handler's attribute says.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) krate: Option<Path>,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) icons: Vec<LitStr>,
    pub(crate) meta: Option<TokenStream>,
    pub(crate) blocking: Option<Span>,
    pub(crate) timeout: Option<(Span, u64)>,
    /// `read_only`, `destructive`, `idempotent`, `open_world`, as given.
    pub(crate) hints: Vec<(Ident, bool)>,
    pub(crate) uri: Option<LitStr>,
    pub(crate) mime: Option<LitStr>,
    /// `user`, `assistant`
    pub(crate) audience: Vec<LitStr>,
    pub(crate) priority: Option<f64>,
    pub(crate) last_modified: Option<LitStr>,
    pub(crate) size: Option<(Span, Size)>,
    pub(crate) subscribe: bool,
    /// How long, in milliseconds, contents may be kept.
    pub(crate) ttl: Option<u64>,
    /// Whether anybody may be given them.
    pub(crate) public: Option<(Span, bool)>,
    /// Decides who may know of the handler.
    pub(crate) visible_if: Option<Expr>,
    /// Keys given so far, over all attributes of the item.
    seen: Vec<String>,
    /// Whether something could not be read, and so may only seem to be missing.
    pub(crate) broken: bool,
}

/// How the size of a resource is known.
pub(crate) enum Size {
    Given(u64),
    /// Counted from the contents.
    Counted,
}

const COMMON: [&str; 9] =
    ["name", "title", "description", "icon", "meta", "blocking", "timeout", "visible_if", "crate"];
const HINTS: [&str; 4] = ["read_only", "destructive", "idempotent", "open_world"];
const RESOURCE: [&str; 9] =
    ["uri", "mime", "audience", "priority", "last_modified", "size", "subscribe", "ttl", "cache"];

/// The keys a kind of attribute has.
pub(crate) fn keys(kind: Kind) -> Vec<&'static str> {
    let own: &[&str] = match kind {
        Kind::Tool => &HINTS,
        Kind::Prompt => &[],
        Kind::Resource | Kind::Derive => &RESOURCE,
    };
    let common =
        COMMON.iter().filter(|key| kind != Kind::Derive || !matches!(**key, "blocking" | "timeout" | "visible_if"));
    common.chain(own).copied().collect()
}

impl Options {
    /// Reads an attribute, and reports every key that is unknown, given twice or of the wrong type.
    pub(crate) fn read(kind: Kind, tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Options::default();
        match errors.keep(syn::parse2::<Entries>(tokens)) {
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
                    errors.on(&literal, format!("write `uri = {}`", literal.token()));
                }
                Kind::Tool | Kind::Prompt => {
                    errors.on(&literal, format!("write `name = {}` or `description = …`", literal.token()));
                }
            }
        }
        for entry in all.entries {
            let key = entry.key.unraw().to_string();
            if !keys(kind).contains(&&*key) {
                errors.at(entry.key.span(), unknown(kind, &key));
            } else if self.seen.contains(&key) {
                errors.at(entry.key.span(), format!("`{key}` is given twice"));
            } else {
                let result = self.set(&key, entry);
                self.broken |= errors.keep(result).is_none();
            }
            self.seen.push(key);
        }
    }

    fn set(&mut self, key: &str, entry: Entry) -> syn::Result<()> {
        match key {
            "crate" => self.krate = Some(path(entry)?),
            "name" => self.name = Some(string(entry)?),
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
            "size" => self.size = Some((entry.key.span(), size(entry)?)),
            _ => {
                let hint = entry.key.clone();
                self.hints.push((hint, flag(entry)?));
            }
        }
        Ok(())
    }
}

/// The error for a key that is not one: whose it is, or which was meant, and which there are.
fn unknown(kind: Kind, key: &str) -> String {
    let own = keys(kind);
    if kind == Kind::Derive && COMMON.contains(&key) {
        return format!("`{key}` is for functions: `#[resource(…, {key} …)]` on an `fn`");
    }
    let other = [Kind::Tool, Kind::Prompt, Kind::Resource].into_iter().find(|other| keys(*other).contains(&key));
    if let Some(other) = other {
        return format!("`{key}` belongs to `#[{}]`", other.attribute());
    }
    if crate::param::KEYS.contains(&key) {
        return format!("`{key}` belongs to an argument: `#[arg({key} = …)]`");
    }
    match closest(key, own.iter().copied()) {
        Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
        None => format!("unknown key `{key}`; {}", list(&own)),
    }
}

/// ``there are `a`, `b` and `c` ``
pub(crate) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("there are {} and {last}", rest.join(", ")),
        _ => format!("there is {}", quoted.concat()),
    }
}

pub(crate) fn string(entry: Entry) -> syn::Result<LitStr> {
    let form = format!("expected a string: `{} = \"…\"`", entry.key);
    literal_string(expression(entry, &form)?, &form)
}

fn literal_string(expr: Expr, form: &str) -> syn::Result<LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => Ok(literal),
        other => Err(syn::Error::new_spanned(other, form)),
    }
}

/// One string, or several in brackets.
fn strings(entry: Entry) -> syn::Result<Vec<LitStr>> {
    let form = format!("expected a string or several: `{0} = \"…\"` or `{0} = [\"…\", \"…\"]`", entry.key);
    match expression(entry, &form)? {
        Expr::Array(array) => array.elems.into_iter().map(|expr| literal_string(ungrouped(expr), &form)).collect(),
        expr => Ok(vec![literal_string(expr, &form)?]),
    }
}

/// A flag: there, or `= true`, or `= false`.
pub(crate) fn flag(entry: Entry) -> syn::Result<bool> {
    let form = format!("expected a flag: `{0}` or `{0} = false`", entry.key);
    match entry.value {
        None => Ok(true),
        Some(Value::Expr(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }))) => Ok(value.value),
        Some(Value::Expr(other)) => Err(syn::Error::new_spanned(other, form)),
        Some(Value::Json(tokens)) => Err(syn::Error::new_spanned(tokens, form)),
    }
}

pub(crate) fn expression(entry: Entry, form: &str) -> syn::Result<Expr> {
    match entry.value {
        Some(Value::Expr(expr)) => Ok(expr),
        Some(Value::Json(tokens)) => Err(syn::Error::new_spanned(tokens, form)),
        None => Err(syn::Error::new(entry.key.span(), form)),
    }
}

pub(crate) fn path(entry: Entry) -> syn::Result<Path> {
    let form = format!("expected a path: `{} = some::path`", entry.key);
    match expression(entry, &form)? {
        Expr::Path(expr) if expr.qself.is_none() => Ok(expr.path),
        other => Err(syn::Error::new_spanned(other, form)),
    }
}

fn json(entry: Entry) -> syn::Result<TokenStream> {
    let form = "expected a JSON object: `meta = { \"example.com/key\": \"value\" }`";
    match entry.value {
        Some(Value::Json(tokens)) => Ok(tokens),
        Some(Value::Expr(other)) => Err(syn::Error::new_spanned(other, form)),
        None => Err(syn::Error::new(entry.key.span(), form)),
    }
}

fn audience(entry: Entry) -> syn::Result<Vec<LitStr>> {
    let audience = strings(entry)?;
    match audience.iter().find(|who| !matches!(&*who.value(), "user" | "assistant")) {
        Some(other) => Err(syn::Error::new(other.span(), "the audience is `\"user\"`, `\"assistant\"` or both")),
        None => Ok(audience),
    }
}

fn priority(entry: Entry) -> syn::Result<f64> {
    let form = "expected a number from 0 to 1: `priority = 0.5`";
    let expr = expression(entry, form)?;
    let number: Option<f64> = match &expr {
        Expr::Lit(ExprLit { lit: Lit::Float(value), .. }) => value.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) => value.base10_parse().ok(),
        _ => None,
    };
    number.filter(|number| (0.0..=1.0).contains(number)).ok_or_else(|| syn::Error::new_spanned(expr, form))
}

fn size(entry: Entry) -> syn::Result<Size> {
    let form = "expected a number of bytes, or nothing where it can be counted: `size = 1024` or `size`";
    match entry.value {
        None => Ok(Size::Counted),
        Some(Value::Expr(Expr::Lit(ExprLit { lit: Lit::Int(bytes), .. }))) => Ok(Size::Given(bytes.base10_parse()?)),
        Some(Value::Expr(other)) => Err(syn::Error::new_spanned(other, form)),
        Some(Value::Json(tokens)) => Err(syn::Error::new_spanned(tokens, form)),
    }
}

/// Whether a cache may be shared.
fn scope(entry: Entry) -> syn::Result<bool> {
    let literal = string(entry)?;
    match &*literal.value() {
        "public" => Ok(true),
        "private" => Ok(false),
        _ => Err(syn::Error::new(literal.span(), "a cache is `\"public\"` or `\"private\"`")),
    }
}

/// Milliseconds from `"500ms"`, `"30s"`, `"2m"`, `"1h"`.
fn duration(entry: Entry) -> syn::Result<u64> {
    let form = format!("expected a duration: `{} = \"30s\"`, `\"500ms\"`, `\"2m\"` or `\"1h\"`", entry.key);
    let literal = literal_string(expression(entry, &form)?, &form)?;
    let text = literal.value();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[digits..] {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = unit.and_then(|unit| text[..digits].parse::<u64>().ok()?.checked_mul(unit));
    millis.filter(|millis| *millis > 0).ok_or_else(|| syn::Error::new(literal.span(), form))
}

/// Whether an expression is a string literal.
pub(crate) fn is_string(expr: &Expr) -> bool {
    matches!(expr, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
}
