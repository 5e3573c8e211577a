//! [`Catalog`]: what a version of the server lists, and how it differs from the version before.

use std::collections::BTreeMap;

use serde_json::Value;

/// A list of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(crate) const ALL: [List; 4] = [List::Tools, List::Prompts, List::Resources, List::Templates];
    /// The lists that stand for a capability; templates belong to resources.
    pub(crate) const CAPABILITIES: [List; 3] = [List::Tools, List::Prompts, List::Resources];

    /// The list a method asks for.
    pub(crate) fn of_method(method: &str) -> Option<List> {
        List::ALL.into_iter().find(|list| list.method() == method)
    }

    /// The list a notification is about.
    pub(crate) fn of_notification(method: &str) -> Option<List> {
        List::CAPABILITIES.into_iter().find(|list| list.notification() == method)
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            List::Tools => "tools/list",
            List::Prompts => "prompts/list",
            List::Resources => "resources/list",
            List::Templates => "resources/templates/list",
        }
    }

    /// The member of the result.
    pub(crate) fn member(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
            List::Templates => "resourceTemplates",
        }
    }

    pub(crate) fn capability(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources | List::Templates => "resources",
        }
    }

    pub(crate) fn notification(self) -> &'static str {
        match self {
            List::Tools => "notifications/tools/list_changed",
            List::Prompts => "notifications/prompts/list_changed",
            List::Resources | List::Templates => "notifications/resources/list_changed",
        }
    }

    /// The member of a `subscriptions/listen` filter.
    pub(crate) fn filter(self) -> &'static str {
        match self {
            List::Tools => "toolsListChanged",
            List::Prompts => "promptsListChanged",
            List::Resources | List::Templates => "resourcesListChanged",
        }
    }

    /// What an item is called, and the member that names it.
    fn item(self) -> (&'static str, &'static str) {
        match self {
            List::Tools => ("tool", "name"),
            List::Prompts => ("prompt", "name"),
            List::Resources => ("resource", "uri"),
            List::Templates => ("resource template", "uriTemplate"),
        }
    }
}

/// The differences shown to a person.
const SHOWN: usize = 8;

/// The items of a list by name, as JSON.
type Items = BTreeMap<String, String>;

/// What a server lists; a list that could not be read is unknown.
#[derive(Debug, Default, Clone)]
pub(crate) struct Catalog {
    lists: BTreeMap<List, Items>,
}

impl Catalog {
    /// Adds a page of a list.
    pub(crate) fn add(&mut self, list: List, result: &Value) {
        let items = self.lists.entry(list).or_default();
        for item in result.get(list.member()).and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = item.get(list.item().1).and_then(Value::as_str) {
                items.insert(name.to_owned(), item.to_string());
            }
        }
    }

    /// The server changed the list itself.
    pub(crate) fn forget(&mut self, list: List) {
        self.lists.remove(&list);
        if list == List::Resources {
            self.lists.remove(&List::Templates);
        }
    }

    /// The capabilities whose lists differ, or may differ, from those of the version before.
    pub(crate) fn changed_since(&self, before: &Catalog) -> Vec<List> {
        let same = |list: List| match (self.lists.get(&list), before.lists.get(&list)) {
            (Some(now), Some(then)) => now == then,
            _ => false,
        };
        List::CAPABILITIES
            .into_iter()
            .filter(|list| !(same(*list) && (*list != List::Resources || same(List::Templates))))
            .collect()
    }

    /// The difference for a person: "+ tool `count`, ~ tool `add`". Lists that are unknown are left out.
    pub(crate) fn describe_since(&self, before: &Catalog) -> String {
        let mut parts = Vec::new();
        for list in List::ALL {
            let (Some(now), Some(then)) = (self.lists.get(&list), before.lists.get(&list)) else { continue };
            let item = list.item().0;
            let added = now.keys().filter(|name| !then.contains_key(*name));
            let changed = now.iter().filter(|(name, item)| then.get(*name).is_some_and(|then| then != *item));
            let removed = then.keys().filter(|name| !now.contains_key(*name));
            parts.extend(added.map(|name| format!("+ {item} `{name}`")));
            parts.extend(changed.map(|(name, _)| format!("~ {item} `{name}`")));
            parts.extend(removed.map(|name| format!("- {item} `{name}`")));
        }
        let more = parts.len().saturating_sub(SHOWN);
        parts.truncate(SHOWN);
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        parts.join(", ")
    }
}
