//! Resources and resource templates: a descriptor and what is behind it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::args::Argument;
use super::builder::{ArgInfo, Declared, Handler, HandlerBuilder, HandlerKind, Metadata, ReturnType, Visible};
use super::output::IntoReadResult;
use super::uri_template::UriTemplate;
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{Failure, Reply};
use crate::protocol::{
    Annotations, CacheHint, ReadResult, ResourceContents, ResourceDescriptor, Role, TemplateDescriptor,
};

/// A resource or a family of them, made by `#[resource]` or `#[derive(Resource)]`.
#[derive(Debug)]
pub struct Resource {
    pub(crate) place: ResourceAddress,
    pub(crate) handler: Handler,
    /// Whether its updates are announced.
    pub(crate) announced: bool,
}

/// Where a resource is found.
#[derive(Debug)]
pub(crate) enum ResourceAddress {
    Fixed(ResourceDescriptor),
    Template(UriTemplate, TemplateDescriptor),
}

impl Resource {
    /// The URI, or the template of URIs.
    pub fn uri(&self) -> &str {
        match &self.place {
            ResourceAddress::Fixed(descriptor) => &descriptor.uri,
            ResourceAddress::Template(_, descriptor) => &descriptor.uri_template,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match &self.place {
            ResourceAddress::Fixed(descriptor) => &descriptor.name,
            ResourceAddress::Template(_, descriptor) => &descriptor.name,
        }
    }

    /// Says that its updates are announced, with [`ServerHandle::updated`](crate::ServerHandle::resource_updated):
    /// clients can subscribe to it. In an attribute: `#[resource("…", subscribe)]`.
    pub fn subscribe(mut self) -> Self {
        self.announced = true;
        self
    }

    /// Shows it only to callers for whom `visible` is true; for others it does not exist. In an
    /// attribute: `#[resource("…", visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visible::new(visible));
        self
    }

    pub(crate) fn rename(&mut self, name: String) {
        match &mut self.place {
            ResourceAddress::Fixed(descriptor) => descriptor.name = name,
            ResourceAddress::Template(_, descriptor) => descriptor.name = name,
        }
    }
}

/// The kind of handler `#[resource]` makes.
#[derive(Debug)]
pub struct ResourceKind {
    uri: String,
    mime: Option<Arc<str>>,
    annotations: Annotations,
    size: Option<u64>,
    cache: Option<CacheHint>,
    announced: bool,
}

/// Starts the description of a resource.
pub fn describe(uri: &str, name: &str) -> HandlerBuilder<ResourceKind> {
    let kind = ResourceKind {
        uri: uri.to_owned(),
        mime: None,
        annotations: Annotations::default(),
        size: None,
        cache: None,
        announced: false,
    };
    let mut spec = HandlerBuilder::of(kind, name);
    // A URI is all a resource is asked for; its variables are arguments, and there are no others.
    spec.takes_arguments();
    spec
}

impl HandlerBuilder<ResourceKind> {
    /// Sets the media type.
    pub fn mime(&mut self, mime: &str) {
        self.kind.mime = Some(mime.into());
    }

    /// Says who it is for.
    pub fn audience(&mut self, audience: &[Role]) {
        self.kind.annotations.audience = audience.to_vec();
    }

    /// Says how much it matters.
    pub fn priority(&mut self, priority: f64) {
        self.kind.annotations.priority = Some(priority);
    }

    /// Says when it last changed.
    pub fn last_modified(&mut self, time: &str) {
        self.kind.annotations.last_modified = Some(time.to_owned());
    }

    /// Says how long a client may keep its contents, and whether anybody may be given them.
    pub fn cache(&mut self, ttl_ms: u64, public: bool) {
        let ttl = Duration::from_millis(ttl_ms);
        self.kind.cache = Some(if public { CacheHint::public(ttl) } else { CacheHint::private(ttl) });
    }

    /// Says that its updates are announced.
    pub fn subscribe(&mut self) {
        self.kind.announced = true;
    }

    /// Says how many bytes it has.
    pub fn size(&mut self, bytes: u64) {
        self.kind.size = Some(bytes);
    }
}

/// What a read needs to know: the URI that was asked for and the media type of the descriptor.
#[derive(Debug)]
pub struct ReadSite {
    uri: String,
    mime: Option<Arc<str>>,
    cache: Option<CacheHint>,
    guarded: bool,
}

impl HandlerKind for ResourceKind {
    type Item = Resource;
    type Site = ReadSite;

    fn declare<T: Argument>(&mut self, of: &str, arg: ArgInfo, optional: bool, _: Option<Value>) -> Declared {
        super::args::declare_text::<T>(of, arg.name, optional)
    }

    fn site(&self) -> impl Fn(&Invocation<'_>) -> ReadSite + Send + Sync + 'static {
        let (mime, cache) = (self.mime.clone(), self.cache);
        move |invocation| ReadSite {
            uri: invocation.read.map(|read| read.uri.to_owned()).unwrap_or_default(),
            mime: mime.clone(),
            cache,
            guarded: invocation.read.is_some_and(|read| read.restricted),
        }
    }

    #[track_caller]
    fn build(self, about: Metadata, handler: Handler) -> Resource {
        let mime_type = self.mime.map(|mime| mime.to_string());
        let template = UriTemplate::parse(&self.uri).unwrap_or_else(|why| panic!("resource URI `{}`: {why}", self.uri));
        let place = if template.is_fixed() {
            ResourceAddress::Fixed(ResourceDescriptor {
                uri: self.uri,
                name: about.name,
                title: about.title,
                description: about.description,
                icons: about.icons,
                mime_type,
                annotations: self.annotations,
                size: self.size,
                meta: about.meta,
            })
        } else {
            let descriptor = TemplateDescriptor {
                uri_template: self.uri,
                name: about.name,
                title: about.title,
                description: about.description,
                icons: about.icons,
                mime_type,
                annotations: self.annotations,
                meta: about.meta,
            };
            ResourceAddress::Template(template, descriptor)
        };
        Resource { place, handler, announced: self.announced }
    }
}

impl ReadSite {
    /// Fills in what a handler left out because its attribute or the request says it.
    fn complete(&self, mut result: ReadResult) -> Reply {
        for contents in &mut result.contents {
            contents.uri.get_or_insert_with(|| self.uri.clone());
            if let Some(mime) = &self.mime {
                contents.mime_type.get_or_insert_with(|| mime.to_string());
            }
        }
        result.cache = result.cache.or(self.cache);
        result.guarded = self.guarded;
        Reply::Read(result)
    }
}

/// Declares the return type. A function rather than a method: the compiler's errors are shorter.
pub fn returns<R: IntoReadResult>(_: &mut HandlerBuilder<ResourceKind>) -> ReturnType<ResourceKind, R> {
    ReturnType {
        reply: |value, site| {
            let result = value.into_read_result(&site.uri).map_err(Failure::from)?;
            Ok(site.complete(result))
        },
    }
}

/// What `#[resource]` leaves beside a function, so that `resources![name]` finds it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "put `#[resource(\"uri\")]` on this function"
)]
pub trait ResourceFn {
    /// Describes the resource.
    fn resource() -> Resource;
}

/// The contents of a derived resource: the value as JSON.
pub fn json_contents<T: serde::Serialize + ?Sized>(value: &T) -> crate::Result<ResourceContents> {
    Ok(ResourceContents::text(serde_json::to_string(value)?))
}

/// The contents of a derived resource: one field as text.
pub fn text_contents<T: Display + ?Sized>(text: &T) -> crate::Result<ResourceContents> {
    Ok(ResourceContents::text(text.to_string()))
}

/// The contents of a derived resource: one field as bytes.
pub fn blob_contents<T: AsRef<[u8]> + ?Sized>(bytes: &T) -> crate::Result<ResourceContents> {
    Ok(ResourceContents::blob(bytes))
}

/// A field of a derived resource in its URI, name, title, description or time.
pub fn shown<T: Display + ?Sized>(value: &T) -> String {
    value.to_string()
}

/// How many bytes the contents have, if they can be made.
pub fn size_of_contents(contents: &crate::Result<ResourceContents>) -> Option<u64> {
    contents.as_ref().ok().map(ResourceContents::size)
}
