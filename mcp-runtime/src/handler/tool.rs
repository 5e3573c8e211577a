//! [`Tool`]: a descriptor and its handler.

use std::any::type_name;
use std::sync::Arc;

use serde_json::Value;

use super::args::{Argument, Key};
use super::builder::{Handler, HandlerBuilder, HandlerKind, Metadata, Visibility};
use super::finish::ReturnType;
use super::header_args::{self, HeaderArg};
use super::layer::{self, Layer};
use super::output::IntoToolResult;
use crate::call::context::Context;
use crate::call::invocation::Origin;
use crate::outcome::{Failure, Reply};
use crate::protocol::sampling::SampleTool;
use crate::protocol::{ToolAnnotations, ToolDescriptor, ToolExecution};
use crate::schema::validator::Validator;

/// A tool. Annotate a function with [`#[tool]`](macro@crate::tool), and list it with
/// [`tools!`](crate::tools!).
#[derive(Debug)]
pub struct Tool {
    /// Boxed, because `tools![…]` is an array on the stack.
    pub(crate) descriptor: Box<ToolDescriptor>,
    pub(crate) handler: Handler,
    /// Whether and how calls become tasks.
    pub(crate) task: Option<TaskSupport>,
    /// Whether it returns structured JSON that no schema describes.
    pub(crate) returns_plain_json: bool,
    /// The arguments mirrored in HTTP headers.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers"))]
    pub(crate) header_args: Vec<HeaderArg>,
}

impl Tool {
    /// The name clients call it by.
    pub fn name(&self) -> &str {
        &self.descriptor.name
    }

    /// Hides the tool from callers for whom `visible` is false: to them it does not exist. The same as
    /// `#[tool(visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visibility::new(visible));
        self
    }

    /// Adds a [layer](crate::layers) around the tool, inside of those it has. The same as
    /// `#[tool(layer = path)]`.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        layer::add(&mut self.handler.layers, layer);
        self
    }

    /// The entry in `tools/list`, as in the newest revision.
    pub fn descriptor(&self) -> &ToolDescriptor {
        &self.descriptor
    }
}

/// How calls of a tool become tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskSupport {
    /// Whether every call must become a task.
    pub(crate) required: bool,
    /// Whether the handler decides when the task starts, to ask questions before.
    pub(crate) asks_first: bool,
    /// Whether another replica runs the task again when its own dies.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "there are replicas over HTTP"))]
    pub(crate) durable: bool,
}

/// The [`HandlerKind`] of `#[tool]`.
#[derive(Debug)]
pub struct ToolKind {
    pub(super) output: Option<Value>,
    /// Whether the return type contains `Json`.
    returns_json: bool,
    annotations: ToolAnnotations,
    task: Option<TaskSupport>,
}

/// Starts building a tool.
pub fn describe(name: &str) -> HandlerBuilder<ToolKind> {
    let annotations = ToolAnnotations::default();
    HandlerBuilder::of(ToolKind { output: None, returns_json: false, annotations, task: None }, name)
}

impl HandlerBuilder<ToolKind> {
    /// Hints whether it only reads.
    pub fn read_only(&mut self, hint: bool) {
        self.kind.annotations.read_only_hint = Some(hint);
    }

    /// Hints whether it may delete or overwrite data.
    pub fn destructive(&mut self, hint: bool) {
        self.kind.annotations.destructive_hint = Some(hint);
    }

    /// Hints whether repeated calls have no further effect.
    pub fn idempotent(&mut self, hint: bool) {
        self.kind.annotations.idempotent_hint = Some(hint);
    }

    /// Hints whether it interacts with external systems.
    pub fn open_world(&mut self, hint: bool) {
        self.kind.annotations.open_world_hint = Some(hint);
    }

    /// Makes tasks of calls: optionally or always, at once or when the handler starts the task.
    pub fn task(&mut self, required: bool, asks_first: bool) {
        self.kind.task = Some(TaskSupport { required, asks_first, durable: false });
    }

    /// Makes its tasks durable.
    pub fn durable(&mut self) {
        if let Some(task) = &mut self.kind.task {
            task.durable = true;
        }
    }

    /// Declares the fields of a struct as arguments.
    pub fn flatten<T: Argument>(&mut self) -> Key<T> {
        self.declare_flattened()
    }
}

impl HandlerKind for ToolKind {
    type Item = Tool;
    type ReplyInfo = ();

    const IS_TEXT: bool = false;

    fn reply_info(&self) -> impl Fn(Origin<'_>) + Send + Sync + 'static {
        |_| ()
    }

    fn build(self, metadata: Metadata, input_schema: Value, mut handler: Handler) -> Tool {
        let Metadata { name, title, description, icons, meta } = metadata;
        match self.output.as_ref().map(Validator::new).transpose() {
            Ok(output) => handler.output = output.map(Arc::new),
            Err(problems) => handler.problems.extend(problems.iter().map(|why| format!("its result: {why}"))),
        }
        let descriptor = ToolDescriptor {
            name,
            title,
            description,
            icons,
            input_schema,
            output_schema: self.output,
            annotations: self.annotations,
            execution: self.task.map(|support| ToolExecution {
                task_support: if support.required { "required" } else { "optional" }.to_owned(),
            }),
            meta,
        };
        let header_args = header_args::header_args(&descriptor.input_schema)
            .map_err(|why| handler.problems.push(why))
            .unwrap_or_default();
        let returns_plain_json = self.returns_json && descriptor.output_schema.is_none();
        Tool { descriptor: Box::new(descriptor), handler, task: self.task, returns_plain_json, header_args }
    }
}

/// Declares the return type. A function rather than a method, because its compile errors are shorter.
pub fn returns<R: IntoToolResult>(builder: &mut HandlerBuilder<ToolKind>) -> ReturnType<ToolKind, R> {
    builder.kind.output = R::output_schema();
    builder.kind.returns_json = type_name::<R>().contains("handler::output::Json<");
    return_type()
}

/// The conversion of a return value, without declaring its type again.
pub fn return_type<R: IntoToolResult>() -> ReturnType<ToolKind, R> {
    ReturnType { reply: |value, ()| value.into_tool_result().map(Reply::Tool).map_err(Failure::from) }
}

/// Implemented by `#[tool]` for a type with the function's name, which `tools![name]` finds.
pub trait ToolFn {
    /// Builds the tool.
    fn tool() -> Tool;
}

impl From<&Tool> for SampleTool {
    fn from(tool: &Tool) -> Self {
        SampleTool::from(tool.descriptor())
    }
}

impl From<Tool> for SampleTool {
    fn from(tool: Tool) -> Self {
        SampleTool::from(tool.descriptor())
    }
}
