//! The posting lists of a delta: terms are interned, and each grows a list in one arena.
//!
//! A term of a field is one entry of a hash table; its bytes lie in one buffer with all others. Its list begins *packed*:
//! units come in ascending order nearly always, so a posting is a varint of the gap and of whether the frequency is 1,
//! and the frequency where it is not, in a chain of blocks of the arena, each twice as long as the one before, so that
//! rare terms waste little and common ones chain seldom. A list that is touched out of order, as records do when they are
//! enriched, becomes *loose*: ordered in memory by id, where any posting can be changed.

use crate::text::TermHasher;
use hashbrown::HashTable;
use plica_format::key::Field;
use plica_format::postings::Posting;
use std::collections::BTreeMap;

/// Payload of the first block of a list; each further one is twice as long, up to `8 << 9`.
const FIRST_BLOCK_BYTES: u32 = 8;
/// Number of the block from which on lengths stay the same.
const LONGEST_BLOCK: u8 = 9;
/// Bytes behind a block: where the next one is.
const LINK_BYTES: usize = 4;
/// A loose list longer than this is a tree, so that an insertion in its midst stays cheap.
const SORTED_POSTINGS: usize = 2048;
/// What a hash table takes an entry, at its emptiest.
const TABLE_ENTRY_BYTES: usize = 10;
/// What a posting of a tree takes, in bytes.
const TREE_POSTING_BYTES: usize = 16;
/// The arena is not let grow past this, since places in it are 32 bits.
const ARENA_BYTES: usize = 1 << 31;

/// A term of a field.
#[derive(Debug, Clone, Copy)]
struct Term {
    /// The hash of term and field.
    hash: u64,
    /// Where the term's bytes start in `names`.
    start: u32,
    /// Bytes of the term.
    length: u8,
    field: Field,
    /// Whether the list is loose.
    is_loose: bool,
    /// Number of the last block of a packed list.
    block: u8,
    /// Start of the first block of a packed list; the number of a loose one.
    first: u32,
    /// Where the next byte of a packed list goes, and where its last block ends.
    write: u32,
    end: u32,
    /// The greatest id of the list.
    last: u32,
}

/// A list that was touched out of order.
#[derive(Debug)]
enum Loose {
    Sorted(Vec<Posting>),
    Tree(BTreeMap<u32, u32>),
}

/// The lists of all fields.
#[derive(Debug, Default)]
pub(super) struct TermLists {
    hasher: TermHasher,
    table: HashTable<u32>,
    terms: Vec<Term>,
    names: Vec<u8>,
    arena: Vec<u8>,
    loose: Vec<Loose>,
    loose_bytes: usize,
}

/// Bytes of a block's payload by its number.
fn block_bytes(number: u8) -> u32 {
    FIRST_BLOCK_BYTES << number.min(LONGEST_BLOCK)
}

/// The hash of a term in a field.
fn field_hash(hash: u64, field: Field) -> u64 {
    hash.wrapping_add((field as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl TermLists {
    /// Empty lists whose terms are hashed by `hasher`.
    pub(super) fn new(hasher: TermHasher) -> Self {
        Self { hasher, ..Self::default() }
    }

    /// What terms are hashed with.
    pub(super) fn hasher(&self) -> &TermHasher {
        &self.hasher
    }

    /// Bytes of memory taken.
    pub(super) fn bytes(&self) -> usize {
        self.terms.len() * (size_of::<Term>() + TABLE_ENTRY_BYTES)
            + self.names.len()
            + self.arena.len()
            + self.loose_bytes
    }

    /// Whether the arena has no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.arena.len() > ARENA_BYTES || self.names.len() > ARENA_BYTES
    }

    fn name(&self, term: &Term) -> &[u8] {
        let start = term.start as usize;
        self.names.get(start..start + usize::from(term.length)).unwrap_or_default()
    }

    fn find(&self, field: Field, name: &[u8], hash: u64) -> Option<usize> {
        let is_it = |&at: &u32| {
            self.terms
                .get(at as usize)
                .is_some_and(|term| term.hash == hash && term.field == field && self.name(term) == name)
        };
        self.table.find(hash, is_it).map(|&at| at as usize)
    }

    /// Sets the frequency of a term in a unit, where `hash` is the hasher's of the term; 0 takes the term away.
    pub(super) fn post(&mut self, field: Field, name: &[u8], hash: u64, unit: u32, frequency: u32) {
        let hash = field_hash(hash, field);
        let Some(at) = self.find(field, name, hash) else {
            let start = self.names.len() as u32;
            self.names.extend_from_slice(name);
            let at = self.terms.len() as u32;
            let first = self.new_block(0);
            let (length, end) = (name.len() as u8, first + block_bytes(0));
            let mut term =
                Term { hash, start, length, field, is_loose: false, block: 0, first, write: first, end, last: unit };
            self.pack(&mut term, unit, frequency);
            self.terms.push(term);
            let terms = &self.terms;
            self.table.insert_unique(hash, at, |&at| terms.get(at as usize).map_or(0, |term| term.hash));
            return;
        };
        let Some(&(mut term)) = self.terms.get(at) else { return };
        if !term.is_loose && unit > term.last {
            let gap = unit - term.last - 1;
            self.pack(&mut term, gap, frequency);
        } else {
            if !term.is_loose {
                self.loosen(&mut term);
            }
            if let Some(list) = self.loose.get_mut(term.first as usize) {
                self.loose_bytes += list.set(unit, frequency);
            }
        }
        term.last = term.last.max(unit);
        if let Some(place) = self.terms.get_mut(at) {
            *place = term;
        }
    }

    /// A new block of the arena.
    fn new_block(&mut self, number: u8) -> u32 {
        let start = self.arena.len();
        self.arena.resize(start + block_bytes(number) as usize + LINK_BYTES, 0);
        start as u32
    }

    /// Appends a posting to a packed list.
    fn pack(&mut self, term: &mut Term, gap: u32, frequency: u32) {
        let mut bytes = [0; 15];
        let head = u64::from(gap) << 1 | u64::from(frequency == 1);
        let mut length = put(&mut bytes, 0, head);
        if frequency != 1 {
            length = put(&mut bytes, length, u64::from(frequency));
        }
        for &byte in bytes.iter().take(length) {
            if term.write == term.end {
                term.block = term.block.saturating_add(1);
                let next = self.new_block(term.block);
                let end = term.end as usize;
                if let Some(link) = self.arena.get_mut(end..end + LINK_BYTES) {
                    link.copy_from_slice(&next.to_le_bytes());
                }
                (term.write, term.end) = (next, next + block_bytes(term.block));
            }
            if let Some(place) = self.arena.get_mut(term.write as usize) {
                *place = byte;
            }
            term.write += 1;
        }
    }

    /// Appends the postings of a packed list to `out`.
    fn unpack(&self, term: &Term, out: &mut Vec<Posting>) {
        let (mut block, mut start) = (0, term.first);
        let mut next = 0u32;
        // What is read of the present number, the bits of it, and the id that waits for its frequency.
        let (mut value, mut bits, mut waiting) = (0u64, 0, None);
        loop {
            let end = start + block_bytes(block);
            let is_last = end == term.end;
            let used = if is_last { term.write } else { end };
            for &byte in self.arena.get(start as usize..used as usize).unwrap_or_default() {
                value |= u64::from(byte & 0x7f) << bits;
                bits += 7;
                if byte >= 0x80 {
                    continue;
                }
                match waiting.take() {
                    Some(id) => out.push(Posting { id, frequency: value as u32 }),
                    None => {
                        let id = next.wrapping_add((value >> 1) as u32);
                        next = id.wrapping_add(1);
                        match value & 1 {
                            1 => out.push(Posting { id, frequency: 1 }),
                            _ => waiting = Some(id),
                        }
                    }
                }
                (value, bits) = (0, 0);
            }
            let link = self.arena.get(end as usize..).and_then(<[u8]>::first_chunk::<LINK_BYTES>);
            match link {
                Some(link) if !is_last => start = u32::from_le_bytes(*link),
                _ => return,
            }
            block = block.saturating_add(1);
        }
    }

    /// Makes a packed list loose.
    fn loosen(&mut self, term: &mut Term) {
        let mut list = Vec::new();
        self.unpack(term, &mut list);
        self.loose_bytes += size_of::<Loose>() + list.len() * size_of::<Posting>();
        (term.is_loose, term.first) = (true, self.loose.len() as u32);
        self.loose.push(Loose::Sorted(list));
    }

    /// Appends the postings of a term with ids from `from` to `to`.
    pub(super) fn read(&self, field: Field, name: &[u8], (from, to): (u32, u32), out: &mut Vec<Posting>) {
        let hash = field_hash(self.hasher.hash(name), field);
        let Some(term) = self.find(field, name, hash).and_then(|at| self.terms.get(at)) else { return };
        if from > term.last {
            return;
        }
        match self.loose.get(term.first as usize).filter(|_| term.is_loose) {
            Some(list) => list.read(from, to, out),
            None => {
                let start = out.len();
                self.unpack(term, out);
                let mut at = 0;
                out.retain(|posting| {
                    at += 1;
                    at <= start || (from..=to).contains(&posting.id)
                });
            }
        }
    }

    /// The lists of a field, in the order of their terms.
    pub(super) fn sorted(&self, field: Field) -> impl Iterator<Item = (&[u8], ListOf<'_>)> {
        // Most terms differ in their first eight bytes, which lie side by side here.
        let mut order: Vec<(u64, u32)> = Vec::new();
        for (at, term) in self.terms.iter().enumerate().filter(|(_, term)| term.field == field) {
            let mut start = [0; 8];
            start.iter_mut().zip(self.name(term)).for_each(|(to, from)| *to = *from);
            order.push((u64::from_be_bytes(start), at as u32));
        }
        let name_of = |at: u32| self.terms.get(at as usize).map(|term| self.name(term));
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name_of(a.1).cmp(&name_of(b.1))));
        order.into_iter().filter_map(|(_, at)| {
            let term = self.terms.get(at as usize)?;
            Some((self.name(term), ListOf { lists: self, term }))
        })
    }
}

/// The list of one term, to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListOf<'a> {
    lists: &'a TermLists,
    term: &'a Term,
}

impl ListOf<'_> {
    /// Appends the postings, by ascending id.
    pub(super) fn read_into(&self, out: &mut Vec<Posting>) {
        match self.lists.loose.get(self.term.first as usize).filter(|_| self.term.is_loose) {
            Some(list) => list.read(0, u32::MAX, out),
            None => self.lists.unpack(self.term, out),
        }
    }
}

impl Loose {
    /// Sets the frequency of an id; gives the bytes that this took.
    fn set(&mut self, id: u32, frequency: u32) -> usize {
        match self {
            Self::Sorted(list) => match list.binary_search_by_key(&id, |posting| posting.id) {
                Ok(at) => {
                    if let Some(posting) = list.get_mut(at) {
                        posting.frequency = frequency;
                    }
                    0
                }
                Err(_) if list.len() >= SORTED_POSTINGS => {
                    let tree = list.iter().map(|posting| (posting.id, posting.frequency));
                    let more = list.len() * (TREE_POSTING_BYTES - size_of::<Posting>());
                    *self = Self::Tree(tree.chain([(id, frequency)]).collect());
                    more + TREE_POSTING_BYTES
                }
                Err(at) => {
                    list.insert(at, Posting { id, frequency });
                    // A list takes up to twice its length.
                    2 * size_of::<Posting>()
                }
            },
            Self::Tree(tree) => match tree.insert(id, frequency) {
                Some(_) => 0,
                None => TREE_POSTING_BYTES,
            },
        }
    }

    /// Appends the postings with ids from `from` to `to`.
    fn read(&self, from: u32, to: u32, out: &mut Vec<Posting>) {
        match self {
            Self::Sorted(list) => {
                let start = list.partition_point(|posting| posting.id < from);
                let end = list.partition_point(|posting| posting.id <= to);
                out.extend_from_slice(list.get(start..end).unwrap_or_default());
            }
            Self::Tree(tree) => {
                out.extend(tree.range(from..=to.max(from)).map(|(&id, &frequency)| Posting { id, frequency }));
            }
        }
    }
}

/// Writes a varint at `at` and gives where it ends.
fn put(bytes: &mut [u8; 15], mut at: usize, mut value: u64) -> usize {
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        if let Some(place) = bytes.get_mut(at) {
            *place = if value > 0 { byte | 0x80 } else { byte };
        }
        at += 1;
        if value == 0 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn lists_are_those_of_plain_maps(
            posts in prop::collection::vec((0..5usize, 0..12u8, 0..400u32, prop_oneof![Just(1u32), 0..300u32, Just(u32::MAX)]), 0..3000),
            ascending: bool,
            base in prop_oneof![Just(0u32), Just(u32::MAX - 500_000)],
        ) {
            let hasher = TermHasher::default();
            let mut lists = TermLists::new(hasher.clone());
            let mut plain: BTreeMap<(usize, Vec<u8>), BTreeMap<u32, u32>> = BTreeMap::new();
            for (at, (field, term, unit, frequency)) in posts.into_iter().enumerate() {
                let name = vec![b'a' + term; usize::from(term) + 1];
                let unit = base + if ascending { at as u32 * 150 + unit % 150 } else { unit };
                lists.post(Field::ALL[field], &name, hasher.hash(&name), unit, frequency);
                plain.entry((field, name)).or_default().insert(unit, frequency);
            }
            for (number, field) in Field::ALL.into_iter().enumerate() {
                let mut got = Vec::new();
                for (term, list) in lists.sorted(field) {
                    let mut postings = Vec::new();
                    list.read_into(&mut postings);
                    let (from, to) = (base + 100, base + 30_000);
                    let mut part = vec![Posting { id: 7, frequency: 7 }];
                    lists.read(field, term, (from, to), &mut part);
                    let inside = postings.iter().filter(|posting| (from..=to).contains(&posting.id));
                    prop_assert!(part.iter().skip(1).eq(inside));
                    got.push(((number, term.to_vec()), postings.into_iter().map(|p| (p.id, p.frequency)).collect()));
                }
                let expected: Vec<_> = plain.iter().filter(|((of, _), _)| *of == number)
                    .map(|(key, list)| (key.clone(), list.iter().map(|(&id, &frequency)| (id, frequency)).collect::<Vec<_>>()))
                    .collect();
                prop_assert_eq!(got, expected);
            }
        }
    }

    #[test]
    fn a_long_list_that_is_touched_out_of_order_stays_right() {
        let hasher = TermHasher::default();
        let mut lists = TermLists::new(hasher.clone());
        let count = 3 * SORTED_POSTINGS as u32;
        for unit in (0..count).chain((0..count).rev()) {
            lists.post(Field::Aliases, b"x", hasher.hash(b"x"), 2 * unit, 1);
            lists.post(Field::Aliases, b"x", hasher.hash(b"x"), 2 * (count - unit) + 1, unit);
        }
        let mut all = Vec::new();
        lists.read(Field::Aliases, b"x", (0, u32::MAX), &mut all);
        assert_eq!(all.len(), 2 * count as usize);
        assert!(all.is_sorted_by_key(|posting| posting.id));
        assert!(lists.bytes() >= all.len() * size_of::<Posting>());
    }
}
