//! Things found by name and listed in order, some of them switched off.

use std::collections::HashMap;
use std::sync::Arc;

/// Named things in the order they were added. Cloning it copies none of them.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    index: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
struct Entry<T> {
    name: Box<str>,
    item: Arc<T>,
    enabled: bool,
}

/// What can be done to a thing in a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edit {
    Remove,
    Enable(bool),
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Entry { name: self.name.clone(), item: Arc::clone(&self.item), enabled: self.enabled }
    }
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        Table { entries: self.entries.clone(), index: self.index.clone() }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { entries: Vec::new(), index: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// The thing called `name`, if it is there and switched on.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        let entry = &self.entries[*self.index.get(name)?];
        entry.enabled.then_some(&*entry.item)
    }

    /// Where the thing called `name` stands, for a table nothing is taken out of.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The thing that stands there.
    pub(crate) fn at(&self, position: usize) -> Option<&T> {
        self.entries.get(position).map(|entry| &*entry.item)
    }

    /// What is switched on, in order, with its name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.entries.iter().filter(|entry| entry.enabled).map(|entry| (&*entry.name, &*entry.item))
    }

    /// Everything, in order, switched on or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &*entry.item)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// Adds something under a name that is free.
    pub(crate) fn push(&mut self, name: &str, item: T) {
        self.index.insert(name.into(), self.entries.len());
        self.entries.push(Entry { name: name.into(), item: Arc::new(item), enabled: true });
    }

    /// Removes something or switches it on or off; false if that changes nothing.
    pub(crate) fn edit(&mut self, name: &str, edit: Edit) -> bool {
        match edit {
            Edit::Remove => self.remove(name),
            Edit::Enable(enabled) => self.enable(name, enabled),
        }
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(at) = self.index.remove(name) else { return false };
        self.entries.remove(at);
        for place in self.index.values_mut() {
            *place -= usize::from(*place > at);
        }
        true
    }

    fn enable(&mut self, name: &str, enabled: bool) -> bool {
        let Some(entry) = self.index.get(name).map(|at| &mut self.entries[*at]) else { return false };
        std::mem::replace(&mut entry.enabled, enabled) != enabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &Table<u8>) -> Vec<&str> {
        table.iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn names_are_found_whatever_was_removed() {
        let mut table = Table::default();
        for (name, item) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            table.push(name, item);
        }
        assert!(table.remove("b") && !table.remove("b"));
        assert_eq!((table.get("a"), table.get("b"), table.get("d")), (Some(&1), None, Some(&4)));
        table.push("b", 5);
        assert_eq!(names(&table), ["a", "c", "d", "b"]);
        assert_eq!(table.get("b"), Some(&5));
    }

    #[test]
    fn what_is_off_is_not_there_but_keeps_its_place() {
        let mut table = Table::default();
        table.push("a", 1);
        table.push("b", 2);
        assert!(table.enable("a", false) && !table.enable("a", false) && !table.enable("x", false));
        assert_eq!((table.get("a"), names(&table)), (None, vec!["b"]));
        assert!(table.contains("a") && table.enable("a", true));
        assert_eq!(names(&table), ["a", "b"]);
    }
}
