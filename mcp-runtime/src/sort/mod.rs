//! One sort for what is rarely sorted. The standard library's is compiled for every type of item and every comparison,
//! 4 KB of a server each.

use std::cmp::Ordering;

/// The positions of `count` items, sorted by what `compare` says of two of them. Equal items stay in their order.
pub(crate) fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..count).collect();
    positions.sort_unstable_by(|one, other| compare(*one, *other).then(one.cmp(other)));
    positions
}

/// The items, sorted by their texts.
pub(crate) fn by_text<'a, T: Copy>(items: &[T], text: impl Fn(T) -> &'a str) -> Vec<T> {
    let compare = |one: usize, other: usize| text(items[one]).cmp(text(items[other]));
    order(items.len(), &compare).into_iter().map(|position| items[position]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_stay_in_their_order() {
        let items = [("b", 1), ("a", 2), ("b", 0), ("a", 1), ("", 9)];
        assert_eq!(by_text(&items, |(text, _)| text), [("", 9), ("a", 2), ("a", 1), ("b", 1), ("b", 0)]);
        assert_eq!(by_text(&[], |text: &str| text), Vec::<&str>::new());
    }
}
