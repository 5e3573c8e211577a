//! Tools: a descriptor and the function behind it.

use serde_json::Value;

use super::args::{Argument, Key};
use super::builder::{ArgInfo, Declared, Handler, HandlerBuilder, HandlerKind, Metadata, ReturnType, Visible};
use super::header_args::{self, HeaderArg};
use super::output::IntoToolResult;
use super::schema::{Extras, InputSchema};
use crate::call::context::Context;
use crate::call::invocation::Invocation;
use crate::outcome::{Failure, Reply};
use crate::protocol::sampling::SampleTool;
use crate::protocol::{ToolAnnotations, ToolDescriptor, ToolExecution};

/// A tool, made by `#[tool]` and listed by [`tools!`](crate::tools!).
#[derive(Debug)]
pub struct Tool {
    /// Boxed: `tools![…]` is an array, which should stay small on the stack.
    pub(crate) descriptor: Box<ToolDescriptor>,
    pub(crate) handler: Handler,
    /// Whether calls become tasks.
    pub(crate) task: Option<TaskSupport>,
    /// The arguments that travel in headers, too.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers"))]
    pub(crate) header_args: Vec<HeaderArg>,
}

impl Tool {
    /// The name calls use.
    pub fn name(&self) -> &str {
        &self.descriptor.name
    }

    /// Shows it only to callers for whom `visible` is true; for others it does not exist. In an
    /// attribute: `#[tool(visible_if = path)]`.
    pub fn visible_if(mut self, visible: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.handler.visible = Some(Visible::new(visible));
        self
    }

    /// What `tools/list` tells of it in the newest revision.
    pub fn descriptor(&self) -> &ToolDescriptor {
        &self.descriptor
    }
}

/// How calls of a tool become tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskSupport {
    /// Whether there is no other way.
    pub(crate) required: bool,
    /// Whether the handler says when.
    pub(crate) asks_first: bool,
}

/// The kind of handler `#[tool]` makes.
#[derive(Debug)]
pub struct ToolKind {
    input: InputSchema,
    output: Option<Value>,
    annotations: ToolAnnotations,
    task: Option<TaskSupport>,
}

/// Starts the description of a tool.
pub fn describe(name: &str) -> HandlerBuilder<ToolKind> {
    let annotations = ToolAnnotations::default();
    HandlerBuilder::of(ToolKind { input: InputSchema::new(), output: None, annotations, task: None }, name)
}

impl HandlerBuilder<ToolKind> {
    /// Hints that it changes nothing.
    pub fn read_only(&mut self, hint: bool) {
        self.kind.annotations.read_only_hint = Some(hint);
    }

    /// Hints that it may delete or overwrite.
    pub fn destructive(&mut self, hint: bool) {
        self.kind.annotations.destructive_hint = Some(hint);
    }

    /// Hints that calling it twice is as good as once.
    pub fn idempotent(&mut self, hint: bool) {
        self.kind.annotations.idempotent_hint = Some(hint);
    }

    /// Hints that it reaches the world outside.
    pub fn open_world(&mut self, hint: bool) {
        self.kind.annotations.open_world_hint = Some(hint);
    }

    /// Says that calls become tasks: where they can, or nowhere else; at once, or when the handler says so.
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
    type Site = ();

    fn declare<T: Argument>(&mut self, _: &str, arg: ArgInfo, optional: bool, default: Option<Value>) -> Declared {
        let extras = Extras { description: arg.description, default, header: arg.header, optional };
        // Clients complete arguments of prompts and of resource templates, not of tools.
        Declared { expected: self.input.property::<T>(arg.name, extras), choices: None }
    }

    fn site(&self) -> impl Fn(&Invocation<'_>) + Send + Sync + 'static {
        |_| ()
    }

    fn build(self, about: Metadata, handler: Handler) -> Tool {
        let descriptor = ToolDescriptor {
            name: about.name,
            title: about.title,
            description: about.description,
            icons: about.icons,
            input_schema: self.input.finish(),
            output_schema: self.output,
            annotations: self.annotations,
            execution: self.task.map(|support| ToolExecution {
                task_support: if support.required { "required" } else { "optional" }.to_owned(),
            }),
            meta: about.meta,
        };
        let header_args = header_args::header_args(&descriptor.input_schema)
            .unwrap_or_else(|why| panic!("tool `{}`: {why}", descriptor.name));
        Tool { descriptor: Box::new(descriptor), handler, task: self.task, header_args }
    }
}

/// Declares the return type. A function rather than a method: the compiler's errors are shorter.
pub fn returns<R: IntoToolResult>(spec: &mut HandlerBuilder<ToolKind>) -> ReturnType<ToolKind, R> {
    spec.kind.output = R::output_schema();
    ReturnType { reply: |value, ()| value.into_tool_result().map(Reply::Tool).map_err(Failure::from) }
}

/// What `#[tool]` leaves beside a function, so that `tools![name]` finds it.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a tool", label = "put `#[tool]` on this function")]
pub trait ToolFn {
    /// Describes the tool.
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
