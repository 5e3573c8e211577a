//! [`Tool`]: a descriptor and its handler.

use serde_json::Value;

use super::args::{Argument, Key};
use super::builder::{ArgInfo, ArgumentType, Handler, HandlerBuilder, HandlerKind, Metadata, Visibility};
use super::finish::ReturnType;
use super::header_args::{self, HeaderArg};
use super::output::IntoToolResult;
use super::schema::{Extras, InputSchema};
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{Failure, Reply};
use crate::protocol::sampling::SampleTool;
use crate::protocol::{ToolAnnotations, ToolDescriptor, ToolExecution};

/// A tool. Annotate a function with [`#[tool]`](macro@crate::tool), and list it with
/// [`tools!`](crate::tools!).
#[derive(Debug)]
pub struct Tool {
    /// Boxed, because `tools![…]` is an array on the stack.
    pub(crate) descriptor: Box<ToolDescriptor>,
    pub(crate) handler: Handler,
    /// Whether and how calls become tasks.
    pub(crate) task: Option<TaskSupport>,
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
}

/// The [`HandlerKind`] of `#[tool]`.
#[derive(Debug)]
pub struct ToolKind {
    input: InputSchema,
    output: Option<Value>,
    annotations: ToolAnnotations,
    task: Option<TaskSupport>,
}

/// Starts building a tool.
pub fn describe(name: &str) -> HandlerBuilder<ToolKind> {
    let annotations = ToolAnnotations::default();
    HandlerBuilder::of(ToolKind { input: InputSchema::new(), output: None, annotations, task: None }, name)
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
        self.kind.task = Some(TaskSupport { required, asks_first });
    }

    /// Declares the fields of a struct as arguments.
    pub fn flatten<T: Argument>(&mut self) -> Key<T> {
        self.takes_arguments();
        self.kind.input.flatten::<T>();
        Key::whole()
    }
}

impl HandlerKind for ToolKind {
    type Item = Tool;
    type ReplyInfo = ();

    fn declare<T: Argument>(&mut self, _: &str, arg: ArgInfo, optional: bool, default: Option<Value>) -> ArgumentType {
        let extras =
            Extras { description: arg.description, default, header: arg.header, optional, keywords: arg.keywords };
        // No choices: clients complete arguments of prompts and resource templates, not of tools.
        ArgumentType { expected: self.input.property::<T>(arg.name, extras), choices: None }
    }

    fn reply_info(&self) -> impl Fn(&Invocation<'_>) + Send + Sync + 'static {
        |_| ()
    }

    fn build(self, Metadata { name, title, description, icons, meta }: Metadata, handler: Handler) -> Tool {
        let descriptor = ToolDescriptor {
            name,
            title,
            description,
            icons,
            input_schema: self.input.finish(),
            output_schema: self.output,
            annotations: self.annotations,
            execution: self.task.map(|support| ToolExecution {
                task_support: if support.required { "required" } else { "optional" }.to_owned(),
            }),
            meta,
        };
        let header_args = header_args::header_args(&descriptor.input_schema)
            .unwrap_or_else(|why| panic!("tool `{}`: {why}", descriptor.name));
        Tool { descriptor: Box::new(descriptor), handler, task: self.task, header_args }
    }
}

/// Declares the return type. A function rather than a method, because its compile errors are shorter.
pub fn returns<R: IntoToolResult>(builder: &mut HandlerBuilder<ToolKind>) -> ReturnType<ToolKind, R> {
    builder.kind.output = R::output_schema();
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
