//! Ordered tables of named items, any of which can be disabled.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// Named items in insertion order. A clone shares the items.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    index: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
struct Entry<T> {
    /// Shared with who is told of calls.
    name: Arc<str>,
    item: Arc<T>,
    enabled: bool,
}

/// A change to one item of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edit {
    Remove,
    Enable(bool),
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Entry { name: Arc::clone(&self.name), item: Arc::clone(&self.item), enabled: self.enabled }
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
    /// The item called `name`, unless it is disabled.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        let entry = &self.entries[*self.index.get(name)?];
        entry.enabled.then_some(&*entry.item)
    }

    /// The name of the item called `name`, as it may be kept, unless it is disabled.
    pub(crate) fn name(&self, name: &str) -> Option<&Arc<str>> {
        let entry = &self.entries[*self.index.get(name)?];
        entry.enabled.then_some(&entry.name)
    }

    /// The name of the first enabled item for which `is_it` holds.
    pub(crate) fn name_where(&self, is_it: impl Fn(&T) -> bool) -> Option<&Arc<str>> {
        self.entries.iter().find(|entry| entry.enabled && is_it(&entry.item)).map(|entry| &entry.name)
    }

    /// The enabled items in order, with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.entries.iter().filter(|entry| entry.enabled).map(|entry| (&*entry.name, &*entry.item))
    }

    /// All items in order, disabled ones included.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &*entry.item)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// Adds an item. The name must not be in use.
    pub(crate) fn push(&mut self, name: &str, item: T) {
        self.index.insert(name.into(), self.entries.len());
        self.entries.push(Entry { name: name.into(), item: Arc::new(item), enabled: true });
    }

    /// Removes, enables or disables an item. Returns whether that changed anything.
    pub(crate) fn edit(&mut self, name: &str, edit: Edit) -> bool {
        match edit {
            Edit::Remove => self.remove(name),
            Edit::Enable(enabled) => self.enable(name, enabled),
        }
    }

    /// Edits the items for which `needs` holds, in place. False if one of them is shared with a copy of the table: it and
    /// those after it stay as they are.
    pub(crate) fn edit_all(&mut self, needs: impl Fn(&T) -> bool, mut edit: impl FnMut(&mut T)) -> bool {
        self.entries.iter_mut().filter(|entry| needs(&entry.item)).all(|entry| {
            let item = Arc::get_mut(&mut entry.item);
            item.map(&mut edit).is_some()
        })
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(removed) = self.index.remove(name) else { return false };
        self.entries.remove(removed);
        for index in self.index.values_mut() {
            *index -= usize::from(*index > removed);
        }
        true
    }

    fn enable(&mut self, name: &str, enabled: bool) -> bool {
        let Some(&index) = self.index.get(name) else { return false };
        std::mem::replace(&mut self.entries[index].enabled, enabled) != enabled
    }
}

/// A [`Table`] that only grows, so an item's index stays valid in all later copies of the table.
///
/// Dereferences to the table for reading only: nothing can be removed from it.
#[derive(Debug)]
pub(crate) struct AppendOnlyTable<T>(Table<T>);

impl<T> AppendOnlyTable<T> {
    /// The index of the item called `name`.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.0.index.get(name).copied()
    }

    /// Edits items in place, as [`Table::edit_all`] does.
    pub(crate) fn edit_all(&mut self, needs: impl Fn(&T) -> bool, edit: impl FnMut(&mut T)) -> bool {
        self.0.edit_all(needs, edit)
    }

    /// The item at `index`.
    pub(crate) fn at(&self, index: usize) -> Option<&T> {
        self.0.entries.get(index).map(|entry| &*entry.item)
    }

    /// Adds an item. The name must not be in use.
    pub(crate) fn push(&mut self, name: &str, item: T) {
        self.0.push(name, item);
    }
}

impl<T> Deref for AppendOnlyTable<T> {
    type Target = Table<T>;

    fn deref(&self) -> &Table<T> {
        &self.0
    }
}

impl<T> Clone for AppendOnlyTable<T> {
    fn clone(&self) -> Self {
        AppendOnlyTable(self.0.clone())
    }
}

impl<T> Default for AppendOnlyTable<T> {
    fn default() -> Self {
        AppendOnlyTable(Table::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &Table<u8>) -> Vec<&str> {
        table.iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn lookup_survives_removals() {
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
    fn disabled_items_are_hidden_and_keep_their_position() {
        let mut table = Table::default();
        table.push("a", 1);
        table.push("b", 2);
        assert!(table.enable("a", false) && !table.enable("a", false) && !table.enable("x", false));
        assert_eq!((table.get("a"), names(&table)), (None, vec!["b"]));
        assert!(table.contains("a") && table.enable("a", true));
        assert_eq!(names(&table), ["a", "b"]);
    }
}
