//! [`Resource`]: a resource or a resource template, with its descriptor and handler.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::builder::{Handler, HandlerBuilder, HandlerKind, Metadata, Visibility};
use super::finish::ReturnType;
use super::layer::{self, Layer};
use super::output::IntoReadResult;
use super::uri_template::UriTemplate;
use crate::call::context::Context;
use crate::call::invocation::Origin;
use crate::outcome::{Failure, Reply};
use crate::protocol::{
    Annotations, CacheHint, ReadResult, ResourceContents, ResourceDescriptor, Role, TemplateDescriptor,
};

/// A resource or a resource template. Annotate a function with [`#[resource]`](macro@crate::resource),
/// or derive it with [`#[derive(Resource)]`](derive@crate::Resource).
#[derive(Debug)]
pub struct Resource {
    pub(crate) address: ResourceAddress,
    pub(crate) handler: Handler,
    /// Whether clients can subscribe to its updates.
    pub(crate) subscribable: bool,
}

/// The URI of a resource, or the template of several, with the descriptor.
#[derive(Debug)]
pub(crate) enum ResourceAddress {
    Fixed(ResourceDescriptor),
    Template(UriTemplate, TemplateDescriptor),
}

impl Resource {
    /// The URI, or the URI template.
    pub fn uri(&self) -> &str {
        match &self.address {
            ResourceAddress::Fixed(descriptor) => &descriptor.uri,
            ResourceAddress::Template(_, descriptor) => &descriptor.uri_template,
        }
    }

    /// The name, which lists show.
    pub fn name(&self) -> &str {
        match &self.address {
            ResourceAddress::Fixed(descriptor) => &descriptor.name,
            ResourceAddress::Template(_, descriptor) => &descriptor.name,
        }
    }

    /// Lets clients subscribe to the resource. Announce its updates with
    /// [`ServerHandle::resource_updated`](crate::ServerHandle::resource_updated). The same as
    /// `#[resource("…", subscribe)]`.
    pub fn subscribe(mut self) -> Self {
        self.subscribable = true;
        self
    }

    /// Hides the resource from callers for whom `visible` is false: to them it does not exist. The same
    /// as `#[resource("…", visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visibility::new(visible));
        self
    }

    /// Adds a [layer](crate::layers) around the resource, inside of those it has. The same as
    /// `#[resource("…", layer = path)]`.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        layer::add(&mut self.handler.layers, layer);
        self
    }

    pub(crate) fn rename(&mut self, name: String) {
        match &mut self.address {
            ResourceAddress::Fixed(descriptor) => descriptor.name = name,
            ResourceAddress::Template(_, descriptor) => descriptor.name = name,
        }
    }
}

/// The [`HandlerKind`] of `#[resource]`.
#[derive(Debug)]
pub struct ResourceKind {
    uri: String,
    mime: Option<Arc<str>>,
    annotations: Annotations,
    size: Option<u64>,
    cache: Option<CacheHint>,
    subscribable: bool,
}

/// Starts building a resource.
pub fn describe(uri: &str, name: &str) -> HandlerBuilder<ResourceKind> {
    let kind = ResourceKind {
        uri: uri.to_owned(),
        mime: None,
        annotations: Annotations::default(),
        size: None,
        cache: None,
        subscribable: false,
    };
    HandlerBuilder::of(kind, name)
}

impl HandlerBuilder<ResourceKind> {
    /// Sets the media type.
    pub fn mime(&mut self, mime: &str) {
        self.kind.mime = Some(mime.into());
    }

    /// Sets the intended audience.
    pub fn audience(&mut self, audience: &[Role]) {
        self.kind.annotations.audience = audience.to_vec();
    }

    /// Sets the priority, from 0 to 1.
    pub fn priority(&mut self, priority: f64) {
        self.kind.annotations.priority = Some(priority);
    }

    /// Sets the time of the last change.
    pub fn last_modified(&mut self, time: &str) {
        self.kind.annotations.last_modified = Some(time.to_owned());
    }

    /// Sets how long clients may cache its contents, and whether a cache may be shared.
    pub fn cache(&mut self, ttl_ms: u64, public: bool) {
        let ttl = Duration::from_millis(ttl_ms);
        self.kind.cache = Some(if public { CacheHint::public(ttl) } else { CacheHint::private(ttl) });
    }

    /// Lets clients subscribe to its updates.
    pub fn subscribe(&mut self) {
        self.kind.subscribable = true;
    }

    /// Sets the size in bytes.
    pub fn size(&mut self, bytes: u64) {
        self.kind.size = Some(bytes);
    }
}

/// The data that the result of a read depends on: the requested URI, and the resource's attributes.
#[derive(Debug)]
pub struct ReadInfo {
    uri: String,
    mime: Option<Arc<str>>,
    cache: Option<CacheHint>,
    guarded: bool,
}

impl HandlerKind for ResourceKind {
    type Item = Resource;
    type ReplyInfo = ReadInfo;

    const IS_TEXT: bool = true;

    fn reply_info(&self) -> impl Fn(Origin<'_>) -> ReadInfo + Send + Sync + 'static {
        let (mime, cache) = (self.mime.clone(), self.cache);
        move |origin| ReadInfo {
            uri: origin.read().map(|read| read.uri.to_owned()).unwrap_or_default(),
            mime: mime.clone(),
            cache,
            guarded: origin.read().is_some_and(|read| read.restricted),
        }
    }

    fn build(self, metadata: Metadata, _: Value, mut handler: Handler) -> Resource {
        let mime_type = self.mime.map(|mime| mime.to_string());
        let template = UriTemplate::parse(&self.uri).unwrap_or_else(|why| {
            handler.problems.push(format!("resource URI `{}`: {why}", self.uri));
            UriTemplate::default()
        });
        let ResourceKind { uri, annotations, size, subscribable, .. } = self;
        let Metadata { name, title, description, icons, meta } = metadata;
        let address = if template.is_fixed() {
            let descriptor =
                ResourceDescriptor { uri, name, title, description, icons, mime_type, annotations, size, meta };
            ResourceAddress::Fixed(descriptor)
        } else {
            let descriptor =
                TemplateDescriptor { uri_template: uri, name, title, description, mime_type, icons, annotations, meta };
            ResourceAddress::Template(template, descriptor)
        };
        Resource { address, handler, subscribable }
    }
}

impl ReadInfo {
    /// Fills in what the handler left out, from its attribute and the request.
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

/// Declares the return type. A function rather than a method, because its compile errors are shorter.
pub fn returns<R: IntoReadResult>(_: &mut HandlerBuilder<ResourceKind>) -> ReturnType<ResourceKind, R> {
    return_type()
}

/// The conversion of a return value, without declaring its type again.
pub fn return_type<R: IntoReadResult>() -> ReturnType<ResourceKind, R> {
    ReturnType {
        reply: |value, info| {
            let result = value.into_read_result(&info.uri).map_err(Failure::from)?;
            Ok(info.complete(result))
        },
    }
}

/// Implemented by `#[resource]` for a type with the function's name, which `resources![name]` finds.
pub trait ResourceFn {
    /// Builds the resource.
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

/// A field of a derived resource as text: in its URI, name, title, description or time.
pub fn shown<T: Display + ?Sized>(value: &T) -> String {
    value.to_string()
}

/// The size of the contents in bytes, unless they cannot be serialized.
pub fn size_of_contents(contents: &crate::Result<ResourceContents>) -> Option<u64> {
    contents.as_ref().ok().map(ResourceContents::size)
}
