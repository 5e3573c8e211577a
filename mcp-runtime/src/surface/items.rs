//! The differences between two versions of one tool, prompt, resource or template.

use super::Offered;
use super::difference::{Class, Differences, INCOMPARABLE, Place, shown};
use super::schema::{self, Side};
use crate::protocol::{
    Annotations, Icon, Meta, PromptArgument, PromptDescriptor, ResourceDescriptor, TemplateDescriptor, ToolAnnotations,
    ToolDescriptor,
};

/// An item of a list.
pub(super) trait Listed {
    const KIND: &'static str;
    /// The word for the key.
    const ADDRESS: &'static str;

    /// What clients ask for it by.
    fn key(&self) -> &str;

    /// Whether `other` looks like the same item with another key.
    fn moved_to(&self, _: &Self) -> bool {
        false
    }

    fn requires(&self) -> &[String];

    fn scopes(&self) -> &[String];

    fn compare(&self, new: &Self, place: &Place, found: &mut Differences);
}

/// The differences between two versions of an item.
pub(super) fn compare<T: Listed>(place: &Place, old: &T, new: &T, found: &mut Differences) {
    for capability in new.requires().iter().filter(|capability| !old.requires().contains(capability)) {
        let change = format!("the client must have the capability `{capability}`");
        found.add(Class::Breaking, place.then("requires"), change);
    }
    for capability in old.requires().iter().filter(|capability| !new.requires().contains(capability)) {
        let change = format!("the client need not have the capability `{capability}`");
        found.add(Class::Additive, place.then("requires"), change);
    }
    for scope in new.scopes().iter().filter(|scope| !old.scopes().contains(scope)) {
        found.add(Class::Breaking, place.then("scopes"), format!("callers need the scope `{scope}`"));
    }
    for scope in old.scopes().iter().filter(|scope| !new.scopes().contains(scope)) {
        found.add(Class::Additive, place.then("scopes"), format!("callers need not have the scope `{scope}`"));
    }
    old.compare(new, place, found);
}

impl Listed for Offered<ToolDescriptor> {
    const KIND: &'static str = "tool";
    const ADDRESS: &'static str = "name";

    fn key(&self) -> &str {
        &self.item.name
    }

    fn requires(&self) -> &[String] {
        &self.requires
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }

    fn compare(&self, new: &Self, place: &Place, found: &mut Differences) {
        let ToolDescriptor {
            name: _,
            title,
            description,
            icons,
            input_schema,
            output_schema,
            annotations,
            execution,
            meta,
        } = &self.item;
        let new = &new.item;
        texts(place, [title, description], [&new.title, &new.description], [icons, &new.icons], found);
        found.0.extend(schema::compare(Side::Input, place, input_schema, &new.input_schema));
        match (output_schema, &new.output_schema) {
            (Some(old), Some(new)) => found.0.extend(schema::compare(Side::Output, place, old, new)),
            (None, Some(_)) => found.add(Class::Additive, place.then("result"), "has a schema now"),
            (Some(_), None) => found.add(Class::Breaking, place.then("result"), "has no schema any more"),
            (None, None) => {}
        }
        hints(place, annotations, &new.annotations, found);
        let [old_tasks, new_tasks] =
            [execution, &new.execution].map(|execution| execution.as_ref().map(|execution| &execution.task_support));
        let more = match (old_tasks.map(String::as_str), new_tasks.map(String::as_str)) {
            (None | Some("forbidden" | "required"), Some("optional")) => Class::Additive,
            (None, Some("forbidden")) | (Some("forbidden"), None) => Class::Cosmetic,
            _ => Class::Breaking,
        };
        found.changed(more, place.then("tasks"), old_tasks, new_tasks);
        metadata(place, meta, &new.meta, found);
    }
}

impl Listed for Offered<PromptDescriptor> {
    const KIND: &'static str = "prompt";
    const ADDRESS: &'static str = "name";

    fn key(&self) -> &str {
        &self.item.name
    }

    fn requires(&self) -> &[String] {
        &self.requires
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }

    fn compare(&self, new: &Self, place: &Place, found: &mut Differences) {
        let PromptDescriptor { name: _, title, description, icons, arguments, meta } = &self.item;
        let new = &new.item;
        texts(place, [title, description], [&new.title, &new.description], [icons, &new.icons], found);
        prompt_arguments(place, arguments, &new.arguments, found);
        metadata(place, meta, &new.meta, found);
    }
}

impl Listed for Offered<ResourceDescriptor> {
    const KIND: &'static str = "resource";
    const ADDRESS: &'static str = "uri";

    fn key(&self) -> &str {
        &self.item.uri
    }

    fn moved_to(&self, other: &Self) -> bool {
        self.item.name == other.item.name
    }

    fn requires(&self) -> &[String] {
        &self.requires
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }

    fn compare(&self, new: &Self, place: &Place, found: &mut Differences) {
        // The size changes with the contents: it is not recorded.
        let ResourceDescriptor { uri: _, name, title, description, icons, mime_type, annotations, size: _, meta } =
            &self.item;
        subscription(place, self.subscribe, new.subscribe, found);
        let new = &new.item;
        found.changed(Class::Cosmetic, place.then("name"), Some(name), Some(&new.name));
        texts(place, [title, description], [&new.title, &new.description], [icons, &new.icons], found);
        contents(place, [mime_type, &new.mime_type], [annotations, &new.annotations], found);
        metadata(place, meta, &new.meta, found);
    }
}

impl Listed for Offered<TemplateDescriptor> {
    const KIND: &'static str = "template";
    const ADDRESS: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        &self.item.uri_template
    }

    fn moved_to(&self, other: &Self) -> bool {
        self.item.name == other.item.name
    }

    fn requires(&self) -> &[String] {
        &self.requires
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }

    fn compare(&self, new: &Self, place: &Place, found: &mut Differences) {
        let TemplateDescriptor { uri_template: _, name, title, description, mime_type, icons, annotations, meta } =
            &self.item;
        subscription(place, self.subscribe, new.subscribe, found);
        let new = &new.item;
        found.changed(Class::Cosmetic, place.then("name"), Some(name), Some(&new.name));
        texts(place, [title, description], [&new.title, &new.description], [icons, &new.icons], found);
        contents(place, [mime_type, &new.mime_type], [annotations, &new.annotations], found);
        metadata(place, meta, &new.meta, found);
    }
}

/// What people and models read.
fn texts(
    place: &Place,
    [title, description]: [&Option<String>; 2],
    [new_title, new_description]: [&Option<String>; 2],
    [icons, new_icons]: [&Vec<Icon>; 2],
    found: &mut Differences,
) {
    found.changed(Class::Cosmetic, place.then("title"), title.as_ref(), new_title.as_ref());
    found.changed(Class::Cosmetic, place.then("description"), description.as_ref(), new_description.as_ref());
    found.changed(Class::Cosmetic, place.then("icons"), Some(icons), Some(new_icons));
}

/// The media type is the format of the contents; the annotations only describe them.
fn contents(place: &Place, [old, new]: [&Option<String>; 2], [one, other]: [&Annotations; 2], found: &mut Differences) {
    let class = if old.is_none() { Class::Additive } else { Class::Breaking };
    found.changed(class, place.then("mimeType"), old.as_ref(), new.as_ref());
    found.changed(Class::Cosmetic, place.then("annotations"), Some(one), Some(other));
}

fn subscription(place: &Place, old: bool, new: bool, found: &mut Differences) {
    let class = if new { Class::Additive } else { Class::Breaking };
    found.changed(class, place.then("subscribe"), Some(&old), Some(&new));
}

/// Free-form metadata: an addition is ignored by clients that do not know it; of other changes nothing is known.
fn metadata(place: &Place, old: &Meta, new: &Meta, found: &mut Differences) {
    let place = place.then("_meta");
    for (key, value) in old.iter().filter(|(key, value)| new.get(*key) != Some(value)) {
        let change = format!("{} → {}: {INCOMPARABLE}", shown(Some(value)), shown(new.get(key)));
        found.add(Class::Breaking, place.then(key), change);
    }
    for key in new.keys().filter(|key| !old.contains_key(*key)) {
        found.add(Class::Additive, place.then(key), "new");
    }
}

/// A hint that clients act on, with the value that lets them do more: skip a confirmation, or retry.
struct Promise {
    hint: &'static str,
    value: bool,
    given: fn(&ToolAnnotations) -> bool,
}

/// An absent hint means the worst.
/// <https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations>
const PROMISES: [Promise; 4] = [
    Promise { hint: "readOnlyHint", value: true, given: |hints| hints.read_only_hint == Some(true) },
    Promise {
        hint: "destructiveHint",
        value: false,
        given: |hints| hints.read_only_hint == Some(true) || hints.destructive_hint == Some(false),
    },
    Promise {
        hint: "idempotentHint",
        value: true,
        given: |hints| hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true),
    },
    Promise { hint: "openWorldHint", value: false, given: |hints| hints.open_world_hint == Some(false) },
];

fn hints(place: &Place, old: &ToolAnnotations, new: &ToolAnnotations, found: &mut Differences) {
    let before = found.0.len();
    let [read_only, ..] = &PROMISES;
    // It implies the two that follow: one change is told once.
    let implied = |hint: &str| matches!(hint, "destructiveHint" | "idempotentHint");
    let told = |hint: &str| (read_only.given)(old) != (read_only.given)(new) && implied(hint);
    for Promise { hint, value, given } in PROMISES.iter().filter(|promise| !told(promise.hint)) {
        let place = place.then("annotations").then(*hint);
        match (given(old), given(new)) {
            (true, false) => found.add(Class::Breaking, place, format!("no longer {value}: clients may rely on it")),
            (false, true) => found.add(Class::Additive, place, format!("now {value}")),
            _ => {}
        }
    }
    if found.0.len() == before {
        found.changed(Class::Cosmetic, place.then("annotations"), Some(old), Some(new));
    }
}

fn prompt_arguments(prompt: &Place, old: &[PromptArgument], new: &[PromptArgument], found: &mut Differences) {
    let place = |name: &str| prompt.then(format!("argument {name}"));
    let get = |arguments: &'_ [PromptArgument], name: &str| arguments.iter().position(|other| other.name == name);
    for PromptArgument { name, description, required } in old {
        let Some(index) = get(new, name) else {
            found.add(Class::Breaking, place(name), "removed");
            continue;
        };
        let now = &new[index];
        let described = place(name).then("description");
        found.changed(Class::Cosmetic, described, description.as_ref(), now.description.as_ref());
        match (required, now.required) {
            (false, true) => found.add(Class::Breaking, place(name), "was optional, is required"),
            (true, false) => found.add(Class::Additive, place(name), "was required, is optional"),
            _ => {}
        }
    }
    for PromptArgument { name, required, .. } in new.iter().filter(|argument| get(old, &argument.name).is_none()) {
        let (class, change) =
            if *required { (Class::Breaking, "new, and required") } else { (Class::Additive, "new, and optional") };
        found.add(class, place(name), change);
    }
    let order = |items: &[PromptArgument], others: &[PromptArgument]| -> Vec<String> {
        let common = items.iter().filter(|item| get(others, &item.name).is_some());
        common.map(|item| item.name.clone()).collect()
    };
    let place = prompt.then("arguments").then("order");
    found.changed(Class::Cosmetic, place, Some(&order(old, new)), Some(&order(new, old)));
}
