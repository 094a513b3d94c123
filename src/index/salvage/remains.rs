//! What is left of the dictionary of a damaged file: its sound leaves, in layers.
//!
//! A layer is a segment, or a run of leaves of one. Those that the newest commit reaches are *vouched for*; they are
//! the segments of the index, without the leaves that are lost. Of each lost leaf or page the range of keys is known.
//! Below them lie leaves that no sound page leads to any more: they were merged, replaced, or hang from a lost page, and
//! serve only for keys in lost ranges. Where the newest commit itself is lost, what was written behind the last one that is
//! there lies above, and without any commit all leaves lie in the order of the file.

use crate::dictionary::load_value;
use crate::store::{Blocks, Scan};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::bytes::Reader;
use plica_format::leaf::Leaf;
use plica_format::separator::SeparatorPage;
use plica_format::state::IndexState;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

/// A range of keys whose values are lost in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::index) struct LostKeys {
    /// The block that held them, or led to them.
    pub(in crate::index) offset: u64,
    /// The first key that may be lost.
    pub(in crate::index) from: Vec<u8>,
    /// The first key behind them.
    pub(in crate::index) to: Option<Vec<u8>>,
}

impl LostKeys {
    fn contains(&self, key: &[u8]) -> bool {
        self.from.as_slice() <= key && self.to.as_deref().is_none_or(|to| key < to)
    }

    /// Whether keys from `first` to `last` may be among them.
    pub(super) fn meets(&self, first: &[u8], last: &[u8]) -> bool {
        self.from.as_slice() <= last && self.to.as_deref().is_none_or(|to| first < to)
    }
}

/// Leaves in the order of their keys.
#[derive(Debug)]
struct Layer {
    /// Keys below do not count.
    from: Vec<u8>,
    leaves: Vec<(Vec<u8>, Reference)>,
    is_vouched: bool,
}

/// The value of a key in one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::index) struct Found {
    pub(in crate::index) value: Vec<u8>,
    /// Whether a commit vouches for it.
    pub(super) is_vouched: bool,
}

/// The layers, oldest first.
#[derive(Debug)]
pub(in crate::index) struct Remains {
    pub(super) blocks: Blocks,
    layers: Vec<Layer>,
    pub(in crate::index) lost: Vec<LostKeys>,
    /// Whether leaves that no commit vouches for count for lost keys alone.
    only_lost: bool,
    /// Whether any commit vouches for anything.
    pub(super) has_commit: bool,
    /// What was found to be wrong behind right checksums.
    wrong: RefCell<BTreeSet<(u64, String, String)>>,
}

/// First and last key of a leaf.
fn ends(blocks: &Blocks, reference: &Reference) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let payload = match blocks.read(reference) {
        Ok(payload) => payload,
        Err(Error::Damaged { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let ends = Leaf::decode(&payload).and_then(|leaf| Ok((leaf.first_key()?, leaf.last_key()?)));
    Ok(ends.ok())
}

impl Remains {
    /// Of what a scan found, by the state of the newest commit that is there.
    pub(super) fn new(scan: &Scan, state: Option<&IndexState>) -> Result<Self> {
        let dictionary = match state {
            Some(state) => state.dictionary,
            None => scan.sound.iter().rev().find(|reference| reference.kind == BlockKind::Dictionary).copied(),
        };
        let blocks = scan.blocks.with_dictionary(dictionary);
        let (mut remains, reached) = Self::gathered(blocks, state, scan.is_newest)?;
        let end = scan.newest.as_ref().map_or(0, |head| head.end);
        let orphans = scan.sound.iter().filter(|reference| reference.kind == BlockKind::Leaf);
        let orphans = orphans.filter(|reference| !reached.contains(&reference.offset));
        let (below, above): (Vec<&Reference>, Vec<&Reference>) = orphans.partition(|reference| reference.offset < end);
        let below = match remains.lost.is_empty() {
            true => Vec::new(),
            false => remains.runs(&below, true)?,
        };
        let above = if scan.is_newest { Vec::new() } else { remains.runs(&above, false)? };
        remains.layers.splice(0..0, below);
        remains.layers.extend(above);
        Ok(remains)
    }

    /// Of a commit alone, without what it does not reach.
    pub(in crate::index) fn of_commit(blocks: &Blocks, state: &IndexState) -> Result<Self> {
        Ok(Self::gathered(blocks.clone(), Some(state), true)?.0)
    }

    /// The segments of a state, and the offsets of the blocks that they reach.
    fn gathered(blocks: Blocks, state: Option<&IndexState>, only_lost: bool) -> Result<(Self, HashSet<u64>)> {
        let mut remains = Self {
            blocks,
            layers: Vec::new(),
            lost: Vec::new(),
            only_lost,
            has_commit: state.is_some(),
            wrong: RefCell::default(),
        };
        let mut reached = HashSet::new();
        for (segment, from) in state.map(IndexState::views).unwrap_or_default() {
            let mut layer = Layer { from: from.to_vec(), leaves: Vec::new(), is_vouched: true };
            remains.gather(&segment.root, u8::MAX, (from, None), &mut layer, &mut reached)?;
            remains.layers.push(layer);
        }
        Ok((remains, reached))
    }

    /// Hands every entry of every leaf to `sink`: leaf, key, and the value as the leaf holds it.
    pub(in crate::index) fn each_stored(
        &self,
        mut sink: impl FnMut(&Reference, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for (layer, (_, reference)) in
            self.layers.iter().flat_map(|layer| layer.leaves.iter().map(move |leaf| (layer, leaf)))
        {
            let Some(payload) = self.payload(reference)? else { continue };
            let leaf = match Leaf::trusted(&payload) {
                Ok(leaf) => leaf,
                Err(error) => {
                    self.note(Error::damaged_block(reference)(error))?;
                    continue;
                }
            };
            let mut cursor = leaf.seek(&layer.from);
            loop {
                match cursor.next() {
                    Ok(Some((key, stored))) => sink(reference, key, stored)?,
                    Ok(None) => break,
                    Err(error) => {
                        self.note(Error::damaged_block(reference)(error))?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes damage; any other error is passed on.
    pub(super) fn note(&self, error: Error) -> Result<()> {
        match error {
            Error::Damaged { offset, what, detail } => {
                self.wrong.borrow_mut().insert((offset, what, detail));
                Ok(())
            }
            other => Err(other),
        }
    }

    /// What was noted.
    pub(super) fn wrong(&self) -> Vec<(u64, String, String)> {
        self.wrong.borrow().iter().cloned().collect()
    }

    /// The payload of a block, where it is sound.
    pub(in crate::index) fn payload(&self, reference: &Reference) -> Result<Option<Vec<u8>>> {
        match self.blocks.read(reference) {
            Ok(payload) => Ok(Some(payload.to_vec())),
            Err(error) => self.note(error).map(|()| None),
        }
    }

    /// Gathers the sound leaves under a root or page, which is of a level below `below_level`, and notes which keys lie in
    /// lost ones.
    fn gather(
        &mut self,
        reference: &Reference,
        below_level: u8,
        (from, to): (&[u8], Option<&[u8]>),
        layer: &mut Layer,
        reached: &mut HashSet<u64>,
    ) -> Result<()> {
        if !reached.insert(reference.offset) || to.is_some_and(|to| to <= layer.from.as_slice()) {
            return Ok(());
        }
        let lose = |remains: &mut Self| {
            let (from, to) = (from.max(&layer.from).to_vec(), to.map(<[u8]>::to_vec));
            remains.lost.push(LostKeys { offset: reference.offset, from, to });
        };
        let Some(payload) = self.payload(reference)? else {
            lose(self);
            return Ok(());
        };
        if reference.kind == BlockKind::Leaf {
            match Leaf::decode(&payload).and_then(|leaf| leaf.first_key()) {
                Ok(first) => layer.leaves.push((first, *reference)),
                Err(error) => {
                    lose(self);
                    self.note(Error::damaged_block(reference)(error))?;
                }
            }
            return Ok(());
        }
        match SeparatorPage::decode(&payload) {
            Ok(page) if page.level < below_level => {
                for (at, (first, child)) in page.entries.iter().enumerate() {
                    let next = page.entries.get(at + 1).map(|entry| entry.0.as_slice()).or(to);
                    // What a page refers to lies before it.
                    if child.end() <= reference.offset {
                        self.gather(child, page.level, (first, next), layer, reached)?;
                    } else {
                        let (from, to) = (first.max(&layer.from).to_vec(), next.map(<[u8]>::to_vec));
                        self.lost.push(LostKeys { offset: reference.offset, from, to });
                        let detail = format!("expected a child before it, got one that ends at {}", child.end());
                        self.note(Error::Damaged { offset: reference.offset, what: "separator block".into(), detail })?;
                    }
                }
            }
            Ok(page) => {
                lose(self);
                let detail = format!("expected a level below {below_level}, got {}", page.level);
                self.note(Error::Damaged { offset: reference.offset, what: "separator block".into(), detail })?;
            }
            Err(error) => {
                lose(self);
                self.note(Error::damaged_block(reference)(error))?;
            }
        }
        Ok(())
    }

    /// Puts leaves, in the order of the file, into layers: neighbours whose keys ascend are of one segment.
    fn runs(&self, orphans: &[&Reference], for_lost: bool) -> Result<Vec<Layer>> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut before: Option<Vec<u8>> = None;
        for reference in orphans {
            let Some((first, last)) = ends(&self.blocks, reference)? else { continue };
            if for_lost && !self.lost.iter().any(|lost| lost.meets(&first, &last)) {
                continue;
            }
            match layers.last_mut().filter(|_| before.as_ref().is_some_and(|before| *before < first)) {
                Some(layer) => layer.leaves.push((first, **reference)),
                None => {
                    let leaves = vec![(first, **reference)];
                    layers.push(Layer { from: Vec::new(), leaves, is_vouched: false });
                }
            }
            before = Some(last);
        }
        Ok(layers)
    }

    /// Whether a key may have had a value that is lost.
    pub(super) fn may_be_lost(&self, key: &[u8]) -> bool {
        !self.has_commit || !self.only_lost || self.lost.iter().any(|lost| lost.contains(key))
    }

    /// Whether a key lies in a range that is known to be lost, or no commit says which are.
    pub(super) fn is_lost(&self, key: &[u8]) -> bool {
        !self.has_commit || self.lost.iter().any(|lost| lost.contains(key))
    }

    /// Whether keys of a kind may have had values that are lost.
    pub(super) fn may_lose_kind(&self, kind: u8) -> bool {
        !self.has_commit
            || !self.only_lost
            || self.lost.iter().any(|lost| lost.meets(&[kind], &[kind, u8::MAX, u8::MAX]))
    }

    /// Whether values of a layer count for a key.
    fn counts(&self, layer: &Layer, key: &[u8]) -> bool {
        key >= layer.from.as_slice() && (layer.is_vouched || self.may_be_lost(key))
    }

    /// The value of a key as a leaf holds it.
    pub(in crate::index) fn load(&self, leaf: &Reference, stored: &[u8]) -> Result<Option<Vec<u8>>> {
        match load_value(&self.blocks, leaf, stored, |value| Ok(value.to_vec())) {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.note(error).map(|()| None),
        }
    }

    /// The values of a key, oldest first.
    pub(super) fn values(&self, key: &[u8]) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for layer in self.layers.iter().filter(|layer| self.counts(layer, key)) {
            let at = layer.leaves.partition_point(|(first, _)| first.as_slice() <= key);
            let Some((_, reference)) = at.checked_sub(1).and_then(|at| layer.leaves.get(at)) else { continue };
            let Some(payload) = self.payload(reference)? else { continue };
            let stored = Leaf::trusted(&payload).and_then(|leaf| leaf.get(key));
            match stored.map_err(Error::damaged_block(reference)) {
                Ok(Some(stored)) => {
                    let value = self.load(reference, stored)?;
                    found.extend(value.map(|value| Found { value, is_vouched: layer.is_vouched }));
                }
                Ok(None) => {}
                Err(error) => self.note(error)?,
            }
        }
        Ok(found)
    }

    /// The newest value of a key that `decode` takes, and whether a commit vouches for it.
    pub(in crate::index) fn newest<T>(
        &self,
        key: &[u8],
        decode: impl Fn(&[u8]) -> Result<T, plica_format::FormatError>,
    ) -> Result<Option<(T, bool)>> {
        for found in self.values(key)?.iter().rev() {
            match decode(&found.value) {
                Ok(value) => return Ok(Some((value, found.is_vouched))),
                Err(error) => self.note(wrong_value(key)(error))?,
            }
        }
        Ok(None)
    }

    /// Hands every key that starts with `prefix`, ascending, with its values, oldest first, to `sink`.
    pub(in crate::index) fn each(
        &self,
        prefix: &[u8],
        mut sink: impl FnMut(&[u8], &[Found]) -> Result<()>,
    ) -> Result<()> {
        let mut cursors: Vec<Cursor<'_>> = Vec::new();
        for layer in &self.layers {
            let start = layer.from.as_slice().max(prefix);
            let at = layer.leaves.partition_point(|(first, _)| first.as_slice() <= start).saturating_sub(1);
            cursors.push(Cursor { layer, next_leaf: at, entries: Vec::new().into_iter(), head: None });
        }
        for cursor in &mut cursors {
            cursor.advance(self, prefix)?;
        }
        loop {
            let least = cursors.iter().filter_map(|cursor| cursor.head.as_ref()).map(|(key, _)| key).min();
            let Some(key) = least.cloned() else { return Ok(()) };
            let mut values = Vec::new();
            for cursor in &mut cursors {
                if cursor.head.as_ref().is_some_and(|(at, _)| *at == key) {
                    let value = cursor.head.take().and_then(|(_, value)| value);
                    values.extend(value.map(|value| Found { value, is_vouched: cursor.layer.is_vouched }));
                    cursor.advance(self, prefix)?;
                }
            }
            if !values.is_empty() {
                sink(&key, &values)?;
            }
        }
    }

    /// As [`Remains::each`], with the newest value that `decode` takes.
    pub(super) fn each_newest<T>(
        &self,
        prefix: &[u8],
        decode: impl Fn(&[u8], &[u8]) -> Result<T, plica_format::FormatError>,
        mut sink: impl FnMut(&[u8], T, bool) -> Result<()>,
    ) -> Result<()> {
        self.each(prefix, |key, values| {
            for found in values.iter().rev() {
                match decode(key, &found.value) {
                    Ok(value) => return sink(key, value, found.is_vouched),
                    Err(error) => self.note(wrong_value(key)(error))?,
                }
            }
            Ok(())
        })
    }
}

/// Damage in the value of a key.
pub(super) fn wrong_value(key: &[u8]) -> impl Fn(plica_format::FormatError) -> Error {
    crate::index::view::damaged_value(key.first().copied().unwrap_or_default())
}

/// Reads one varint that is a whole value; `None` where the key is gone.
pub(super) fn standing_number(bytes: &[u8]) -> Result<Option<u32>, plica_format::FormatError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::new("number", bytes);
    let value = reader.varint32()?;
    reader.finish()?;
    Ok(Some(value))
}

/// A key, and its value where that could be read.
type Entry = (Vec<u8>, Option<Vec<u8>>);

/// A place in a layer.
struct Cursor<'a> {
    layer: &'a Layer,
    next_leaf: usize,
    entries: std::vec::IntoIter<Entry>,
    head: Option<Entry>,
}

impl Cursor<'_> {
    /// Goes on to the next key that counts and starts with `prefix`.
    fn advance(&mut self, remains: &Remains, prefix: &[u8]) -> Result<()> {
        loop {
            self.head = self.entries.next();
            if self.head.is_some() {
                return Ok(());
            }
            let Some((first, reference)) = self.layer.leaves.get(self.next_leaf) else { return Ok(()) };
            if first.as_slice() > prefix && !first.starts_with(prefix) {
                return Ok(());
            }
            self.next_leaf += 1;
            self.entries = self.read(remains, reference, prefix)?.into_iter();
        }
    }

    fn read(&self, remains: &Remains, reference: &Reference, prefix: &[u8]) -> Result<Vec<Entry>> {
        let Some(payload) = remains.payload(reference)? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        let leaf = match Leaf::trusted(&payload) {
            Ok(leaf) => leaf,
            Err(error) => return remains.note(Error::damaged_block(reference)(error)).map(|()| entries),
        };
        let mut cursor = leaf.seek(prefix);
        loop {
            match cursor.next() {
                Ok(Some((key, stored))) if key.starts_with(prefix) => {
                    if remains.counts(self.layer, key) {
                        entries.push((key.to_vec(), remains.load(reference, stored)?));
                    }
                }
                Ok(_) => return Ok(entries),
                Err(error) => return remains.note(Error::damaged_block(reference)(error)).map(|()| entries),
            }
        }
    }
}
