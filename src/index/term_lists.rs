//! The posting lists of a delta: terms are interned, and each grows a list in one arena.
//!
//! A term of a field is one entry of a hash table; its bytes lie in one buffer with those of all others. Its list begins *packed*:
//! units come in ascending order nearly always, so a posting is a varint of the gap and of whether the frequency is 1,
//! and the frequency where it is not, in a chain of blocks of the arena, each twice as long as the one before, so that
//! rare terms waste little and common ones chain seldom. A list that is touched out of order, as records do when they are
//! enriched, becomes *loose*: ordered in memory by id, where any posting can be changed.

use crate::text::{TermCounts, TermHasher};
use hashbrown::HashTable;
use plica_format::key::Field;
use plica_format::postings::Posting;
use std::collections::BTreeMap;

/// Payload of the first block of a list; each further one is twice as long, up to `8 << 9`.
const FIRST_BLOCK_BYTES: u16 = 8;
/// Number of the block from which on lengths stay the same.
const LONGEST_BLOCK: u8 = 9;
/// Bytes of a term that its entry holds.
const HEAD_BYTES: usize = 8;
/// Of [`Term::packed`].
const FIELD_BITS: u8 = 7;
/// Of [`Term::packed`].
const LOOSE_BIT: u8 = 8;
/// Of [`Term::packed`].
const BLOCK_SHIFT: u8 = 4;
/// Bytes behind a block: where the next one is.
const LINK_BYTES: usize = 4;
/// A loose list longer than this is a tree, so that an insertion in its midst stays cheap.
const SORTED_POSTINGS: usize = 2048;
/// What a hash table takes of memory an entry, over the entry itself: it is full from a half to 7 eighths.
const TABLE_ENTRY_BYTES: usize = 16;
/// What a posting of a tree takes, in bytes.
const TREE_POSTING_BYTES: usize = 16;
/// The arena is not let grow past this, since places in it are 32 bits.
const ARENA_BYTES: usize = 1 << 31;

/// A term of a field. Half a cache line, never across two: finding a term is what a bulk import does most.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Term {
    /// The first bytes of the term, zeros behind them: most terms need no look at `names`, and sort by it.
    head: [u8; HEAD_BYTES],
    /// Half of the hash of term and field.
    hash: u32,
    /// Where the term's bytes start in `names`.
    start: u32,
    /// Start of the first block of a packed list; the number of a loose one.
    first: u32,
    /// Where the next byte of a packed list goes.
    write: u32,
    /// The greatest id of the list.
    last: u32,
    /// Bytes left in the last block of a packed list.
    left: u16,
    /// Bytes of the term.
    length: u8,
    /// The field in the lowest three bits, then whether the list is loose, then the number of a packed list's last block.
    packed: u8,
}

impl Term {
    fn is_of(&self, field: Field) -> bool {
        self.packed & FIELD_BITS == field as u8
    }

    fn is_loose(&self) -> bool {
        self.packed & LOOSE_BIT != 0
    }
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
    table: HashTable<Term>,
    names: Vec<u8>,
    arena: Arena,
    loose: Vec<Loose>,
    loose_bytes: usize,
}

/// The blocks of packed lists.
#[derive(Debug, Default)]
struct Arena(Vec<u8>);

/// Bytes of a block's payload by its number.
fn block_bytes(number: u8) -> u16 {
    FIRST_BLOCK_BYTES << number.min(LONGEST_BLOCK)
}

/// What the hash of a term in a field is kept as.
fn field_hash(hash: u64, field: Field) -> u32 {
    let mixed = hash.wrapping_add((field as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (mixed ^ mixed >> 32) as u32
}

/// The hash that the table works with: the table looks at both ends of it.
fn table_hash(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn head_of(name: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
    head
}

fn name_of<'a>(names: &'a [u8], term: &Term) -> &'a [u8] {
    let start = term.start as usize;
    names.get(start..start + usize::from(term.length)).unwrap_or_default()
}

/// Whether a term's entry is that of `name` in `field`.
fn is_named(names: &[u8], term: &Term, field: Field, hash: u32, name: &[u8]) -> bool {
    term.hash == hash
        && term.is_of(field)
        && usize::from(term.length) == name.len()
        && match name.len() <= HEAD_BYTES {
            true => term.head == head_of(name),
            false => name_of(names, term) == name,
        }
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
        let terms = self.table.len() * (size_of::<Term>() + TABLE_ENTRY_BYTES);
        terms + self.names.len() + self.arena.0.len() + self.loose_bytes
    }

    /// Whether the arena has no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.arena.0.len() > ARENA_BYTES || self.names.len() > ARENA_BYTES
    }

    fn find(&self, field: Field, name: &[u8]) -> Option<&Term> {
        let hash = field_hash(self.hasher.hash(name), field);
        self.table.find(table_hash(hash), |term| is_named(&self.names, term, field, hash, name))
    }

    /// Sets the frequency of a term in a unit, where `hash` is the hasher's of the term; 0 takes the term away.
    pub(super) fn post(&mut self, field: Field, name: &[u8], hash: u64, unit: u32, frequency: u32) {
        let hash = field_hash(hash, field);
        let Self { table, names, arena, loose, loose_bytes, .. } = self;
        let Some(term) = table.find_mut(table_hash(hash), |term| is_named(names, term, field, hash, name)) else {
            let first = arena.new_block(0);
            let mut term = Term {
                head: head_of(name),
                hash,
                start: names.len() as u32,
                first,
                write: first,
                last: unit,
                left: block_bytes(0),
                length: name.len() as u8,
                packed: field as u8,
            };
            names.extend_from_slice(name);
            arena.pack(&mut term, unit, frequency);
            table.insert_unique(table_hash(hash), term, |term| table_hash(term.hash));
            return;
        };
        if !term.is_loose() && unit > term.last {
            let gap = unit - term.last - 1;
            arena.pack(term, gap, frequency);
            term.last = unit;
            return;
        }
        if !term.is_loose() {
            let mut list = Vec::new();
            arena.unpack(term, &mut list);
            *loose_bytes += size_of::<Loose>() + list.len() * size_of::<Posting>();
            term.packed |= LOOSE_BIT;
            term.first = loose.len() as u32;
            loose.push(Loose::Sorted(list));
        }
        term.last = term.last.max(unit);
        if let Some(list) = loose.get_mut(term.first as usize) {
            *loose_bytes += list.set(unit, frequency);
        }
    }

    /// Sets the frequencies of all terms of a unit.
    pub(super) fn post_all(&mut self, field: Field, unit: u32, counts: &TermCounts) {
        // Most of the time goes into waiting for the memory where rare terms lie. A round that only looks at it waits for
        // several terms at once.
        let seen = counts.iter().fold(0u8, |seen, (_, hash, _)| {
            let hash = field_hash(hash, field);
            let place = self.table.find(table_hash(hash), |term| term.hash == hash).map(|term| term.write as usize);
            seen ^ place.and_then(|at| self.arena.0.get(at)).copied().unwrap_or_default()
        });
        std::hint::black_box(seen);
        for (term, hash, count) in counts.iter() {
            self.post(field, term, hash, unit, count);
        }
    }

    /// Appends the postings of a term with ids from `from` to `to`.
    pub(super) fn read(&self, field: Field, name: &[u8], (from, to): (u32, u32), out: &mut Vec<Posting>) {
        let Some(term) = self.find(field, name).filter(|term| from <= term.last) else { return };
        match self.loose.get(term.first as usize).filter(|_| term.is_loose()) {
            Some(list) => list.read(from, to, out),
            None => {
                let start = out.len();
                self.arena.unpack(term, out);
                let mut at = 0;
                out.retain(|posting| {
                    at += 1;
                    at <= start || (from..=to).contains(&posting.id)
                });
            }
        }
    }

    /// The lists with their fields and terms, in the order of the terms, and the fields of one term in the order of their
    /// numbers.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (Field, &[u8], ListOf<'_>)> {
        // Most terms differ in their heads.
        let mut order: Vec<&Term> = self.table.iter().collect();
        order.sort_unstable_by(|a, b| {
            let names = || name_of(&self.names, a).cmp(name_of(&self.names, b));
            a.head.cmp(&b.head).then_with(names).then_with(|| (a.packed & FIELD_BITS).cmp(&(b.packed & FIELD_BITS)))
        });
        order.into_iter().filter_map(|term| {
            let field = Field::ALL.get(usize::from(term.packed & FIELD_BITS))?;
            Some((*field, name_of(&self.names, term), ListOf { lists: self, term }))
        })
    }
}

impl Arena {
    /// A new block.
    fn new_block(&mut self, number: u8) -> u32 {
        let start = self.0.len();
        self.0.resize(start + usize::from(block_bytes(number)) + LINK_BYTES, 0);
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
            if term.left == 0 {
                let number = (term.packed >> BLOCK_SHIFT).saturating_add(1).min(LONGEST_BLOCK);
                term.packed = term.packed & (FIELD_BITS | LOOSE_BIT) | number << BLOCK_SHIFT;
                let next = self.new_block(number);
                let end = term.write as usize;
                if let Some(link) = self.0.get_mut(end..end + LINK_BYTES) {
                    link.copy_from_slice(&next.to_le_bytes());
                }
                (term.write, term.left) = (next, block_bytes(number));
            }
            if let Some(place) = self.0.get_mut(term.write as usize) {
                *place = byte;
            }
            term.write += 1;
            term.left -= 1;
        }
    }

    /// Appends the postings of a packed list to `out`.
    fn unpack(&self, term: &Term, out: &mut Vec<Posting>) {
        let (mut block, mut start) = (0, term.first);
        let mut next = 0u32;
        // What is read of the present number, the bits of it, and the id that waits for its frequency.
        let (mut value, mut bits, mut waiting) = (0u64, 0, None);
        loop {
            let end = start + u32::from(block_bytes(block));
            let is_last = end == term.write + u32::from(term.left);
            let used = if is_last { term.write } else { end };
            for &byte in self.0.get(start as usize..used as usize).unwrap_or_default() {
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
            let link = self.0.get(end as usize..).and_then(<[u8]>::first_chunk::<LINK_BYTES>);
            match link {
                Some(link) if !is_last => start = u32::from_le_bytes(*link),
                _ => return,
            }
            block = block.saturating_add(1).min(LONGEST_BLOCK);
        }
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
        match self.lists.loose.get(self.term.first as usize).filter(|_| self.term.is_loose()) {
            Some(list) => list.read(0, u32::MAX, out),
            None => self.lists.arena.unpack(self.term, out),
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
                for (_, term, list) in lists.sorted().filter(|(of, _, _)| *of == field) {
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
