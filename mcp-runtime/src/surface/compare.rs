//! The differences between two surfaces: the server itself, its capabilities, and its lists.

use serde_json::Value;

use super::difference::{Class, Difference, Differences, INCOMPARABLE, Place, shown};
use super::items::{self, Listed};
use super::{Identity, Surface};
use crate::protocol::Meta;

/// The differences that lead from the recorded surface to the server's, breaking ones first.
pub(crate) fn compare(recorded: &Surface, current: &Surface) -> Vec<Difference> {
    let mut found = Differences::default();
    identity(&recorded.server, &current.server, &mut found);
    found.changed(
        Class::Cosmetic,
        Place::new("instructions"),
        recorded.instructions.as_ref(),
        current.instructions.as_ref(),
    );
    settings(&Place::new("capabilities"), &recorded.capabilities, &current.capabilities, &mut found);
    list(&recorded.tools, &current.tools, &mut found);
    list(&recorded.prompts, &current.prompts, &mut found);
    list(&recorded.resources, &current.resources, &mut found);
    list(&recorded.resource_templates, &current.resource_templates, &mut found);
    names("method", &recorded.methods, &current.methods, &mut found);
    names("notification", &recorded.notifications, &current.notifications, &mut found);
    found.0.sort_by_key(|difference| difference.class);
    found.0
}

fn identity(old: &Identity, new: &Identity, found: &mut Differences) {
    let Identity { name, title, description, website_url, icons } = old;
    let place = Place::new("server");
    // Not shown to users, but to programs: registries and policies identify a server by it.
    found.changed(Class::Breaking, place.then("name"), Some(name), Some(&new.name));
    for (what, old, new) in [
        ("title", title, &new.title),
        ("description", description, &new.description),
        ("websiteUrl", website_url, &new.website_url),
    ] {
        found.changed(Class::Cosmetic, place.then(what), old.as_ref(), new.as_ref());
    }
    found.changed(Class::Cosmetic, place.then("icons"), Some(icons), Some(&new.icons));
}

/// Objects of settings, where what is there is offered: capabilities, extensions.
fn settings(place: &Place, old: &Meta, new: &Meta, found: &mut Differences) {
    for (name, old) in old {
        let place = place.then(name);
        match (old, new.get(name)) {
            (_, None) => found.add(Class::Breaking, place, "removed"),
            (old, Some(new)) if old == new => {}
            (Value::Object(old), Some(Value::Object(new))) => settings(&place, old, new, found),
            (Value::Bool(true), Some(Value::Bool(false))) => found.add(Class::Breaking, place, "true → false"),
            (Value::Bool(false), Some(Value::Bool(true))) => found.add(Class::Additive, place, "false → true"),
            (old, Some(new)) => {
                let change = format!("{} → {}: {INCOMPARABLE}", shown(Some(old)), shown(Some(new)));
                found.add(Class::Breaking, place, change);
            }
        }
    }
    for name in new.keys().filter(|name| !old.contains_key(*name)) {
        found.add(Class::Additive, place.then(name), "new");
    }
}

fn list<T: Listed>(old: &[T], new: &[T], found: &mut Differences) {
    let place = |item: &T| Place::new(format!("{} {}", T::KIND, item.key()));
    let get = |items: &'_ [T], key: &str| items.iter().position(|item| item.key() == key);
    // A resource with another URI: what it is called tells that it is the same one.
    let is_new = |item: &T| get(old, item.key()).is_none();
    let moved = |item: &T| new.iter().position(|other| is_new(other) && item.moved_to(other));
    let mut taken = Vec::new();
    for item in old {
        if let Some(index) = get(new, item.key()) {
            items::compare(&place(item), item, &new[index], found);
        } else if let Some(index) = moved(item).filter(|index| !taken.contains(index)) {
            taken.push(index);
            let change = format!("{} → {}", item.key(), new[index].key());
            found.add(Class::Breaking, place(item).then(T::ADDRESS), change);
            items::compare(&place(item), item, &new[index], found);
        } else {
            found.add(Class::Breaking, place(item), "removed");
        }
    }
    for (index, item) in new.iter().enumerate().filter(|(_, item)| is_new(item)) {
        if !taken.contains(&index) {
            found.add(Class::Additive, place(item), "new");
        }
    }
    let common = |items: &[T], others: &[T]| -> Vec<String> {
        items.iter().map(T::key).filter(|key| get(others, key).is_some()).map(str::to_owned).collect()
    };
    if common(old, new) != common(new, old) {
        found.add(Class::Cosmetic, Place::new(format!("{}s", T::KIND)), "listed in another order");
    }
}

fn names(kind: &str, old: &[String], new: &[String], found: &mut Differences) {
    for name in old.iter().filter(|name| !new.contains(name)) {
        found.add(Class::Breaking, Place::new(format!("{kind} {name}")), "removed");
    }
    for name in new.iter().filter(|name| !old.contains(name)) {
        found.add(Class::Additive, Place::new(format!("{kind} {name}")), "new");
    }
}
