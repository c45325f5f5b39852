//! Ids to whatever they stand for, for many questions about one list.
//!
//! In a large plan the ids stand all over memory, and following pointers to compare them is what
//! costs. So the first eight bytes of each id, which is most of it or all, stand in the index
//! itself; the id is looked at only where these are equal and there is more to it.

use std::cmp::Ordering;

/// Map from ids to values. If two ids are equal, the first one counts.
#[derive(Debug)]
pub(super) struct IdIndex<'p, T> {
    sorted: Vec<(IdKey<'p>, T)>,
}

#[derive(Clone, Copy, Debug)]
struct IdKey<'p> {
    head: u64,
    id: &'p str,
}

impl<'p> IdKey<'p> {
    fn new(id: &'p str) -> Self {
        let mut head = [0; 8];
        for (to, from) in head.iter_mut().zip(id.bytes()) {
            *to = from;
        }
        Self { head: u64::from_be_bytes(head), id }
    }

    fn order(&self, other: &Self) -> Ordering {
        self.head.cmp(&other.head).then_with(|| match self.id.len().max(other.id.len()) {
            // The heads say it all, except where one id ends and the other goes on with zeros.
            0..=8 => self.id.len().cmp(&other.id.len()),
            _ => self.id.cmp(other.id),
        })
    }
}

impl<'p, T: Copy> IdIndex<'p, T> {
    pub(super) fn new(list: impl Iterator<Item = (&'p str, T)>) -> Self {
        let mut sorted: Vec<_> = list.map(|(id, what)| (IdKey::new(id), what)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.order(b));
        sorted.dedup_by(|(later, _), (first, _)| later.order(first) == Ordering::Equal);
        Self { sorted }
    }

    pub(super) fn get(&self, id: &str) -> Option<T> {
        let key = IdKey::new(id);
        let place = self.sorted.binary_search_by(|(known, _)| known.order(&key)).ok()?;
        self.sorted.get(place).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds_and_the_first_of_equal_ids(
            ids in prop::collection::vec("[a\0é]{0,4}(longtail)?[ab]?", 0..40),
            other in "[a\0é]{0,4}(longtail)?[ab]?",
        ) {
            let mut map = BTreeMap::new();
            for (place, id) in ids.iter().enumerate() {
                map.entry(id.as_str()).or_insert(place);
            }
            let index = IdIndex::new(ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)));
            for id in ids.iter().chain([&other]) {
                prop_assert_eq!(index.get(id), map.get(id.as_str()).copied());
            }
        }
    }
}
