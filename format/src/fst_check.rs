//! Reading a transducer that the `fst` crate wrote, after proving that it is one.
//!
//! An fst leaf keeps its keys as an acyclic automaton: a key is a path of bytes from the root to a final node, and the
//! outputs along the path add up to the key's *ordinal*, its place in the leaf. The crate that builds such automata
//! trusts their bytes; a file cannot ask for that. So this module has a parser of its own, [`Node::parse`], that
//! answers `None` where a node would leave its bounds, and [`Fst::check`], that proves in two passes over the bytes
//! that the walk of any key ends, and ends right:
//!
//! 1. *Down* from the root, the last byte of the nodes, to byte 16: the nodes lie one after another without a gap, each
//!    is pointed to by a node above it, and every pointer goes down to the last byte of a node. So there is no cycle,
//!    no overlap and nothing hidden.
//! 2. *Up* again, by dynamic programming: keys below a node = 1 if it is final + keys below its targets; the output of a
//!    transition = keys of its node that come before it; height = 1 + the greatest height of a target. So the key count
//!    is that of the footer and at most [`LEAF_KEYS`], no key is over [`DEPTH`] bytes, every node leads to a key, and
//!    the outputs of the keys are 0, 1, 2 … in their order, without any key having been written out.
//!
//! Time is linear in the bytes, memory at most seven bytes for each of them.

mod crc32c;
mod node;

pub(crate) use node::{Node, Transition};

use crate::FormatError;
use crate::bytes::Reader;
use crate::limits::LEAF_KEYS;

/// Longest key of an fst, in bytes.
pub(crate) const DEPTH: usize = 255;
/// Version of the layout: that of the `fst` crate 0.4.
const VERSION: u64 = 3;
/// Bytes before the first node: version and type.
const HEAD_BYTES: usize = 16;
/// Bytes after the root node: key count, root address, checksum.
const FOOT_BYTES: usize = 20;
/// The least fst: the one key "" and no node at all.
const LEAST_BYTES: usize = HEAD_BYTES + FOOT_BYTES;
/// Name of the structure in errors.
const STRUCTURE: &str = "fst";

/// A transducer whose head and foot are sound; [`Fst::check`] says whether its nodes are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fst<'a> {
    /// Head, nodes and foot.
    bytes: &'a [u8],
    /// Address of the root: of the byte before the foot, or 0 where the only key is the empty one.
    root: usize,
    /// Keys, as the foot says.
    count: usize,
}

impl<'a> Fst<'a> {
    /// Reads head and foot in constant time.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut head = Reader::new(STRUCTURE, bytes);
        let version = head.u64()?;
        if version != VERSION {
            return Err(FormatError::new(STRUCTURE, 0, "version 3", version));
        }
        let kind = head.u64()?;
        if kind != 0 {
            return Err(FormatError::new(STRUCTURE, 8, "type 0", kind));
        }
        let foot_at = bytes
            .len()
            .checked_sub(FOOT_BYTES)
            .filter(|&at| at >= HEAD_BYTES)
            .ok_or_else(|| FormatError::new(STRUCTURE, 16, "at least 36 bytes", bytes.len()))?;
        let mut foot = Reader::new(STRUCTURE, bytes.get(foot_at..).unwrap_or_default());
        let (count, root) = (foot.u64()?, foot.u64()?);
        let count = usize::try_from(count)
            .ok()
            .filter(|count| (1..=LEAF_KEYS).contains(count))
            .ok_or_else(|| FormatError::new(STRUCTURE, foot_at, format!("a key count of 1 to {LEAF_KEYS}"), count))?;
        let expected = if bytes.len() == LEAST_BYTES { 0 } else { foot_at.saturating_sub(1) };
        if root != expected as u64 {
            return Err(FormatError::new(
                STRUCTURE,
                foot_at.saturating_add(8),
                format!("root address {expected}"),
                root,
            ));
        }
        Ok(Self { bytes, root: expected, count })
    }

    /// Keys, as the foot says.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The root node; `None` only on bytes that were not checked.
    pub(crate) fn root(&self) -> Option<Node<'a>> {
        self.node(self.root)
    }

    /// The node at an address.
    pub(crate) fn node(&self, address: usize) -> Option<Node<'a>> {
        Node::parse(self.bytes, address)
    }

    /// Proves the nodes and the checksum; what the module says holds afterwards.
    pub(crate) fn check(&self) -> Result<(), FormatError> {
        self.check_sum()?;
        if self.root == 0 {
            return self.check_count(1);
        }
        let addresses = self.walk_down()?;
        self.walk_up(&addresses)
    }

    /// Compares the checksum in the foot with that of all bytes before it.
    fn check_sum(&self) -> Result<(), FormatError> {
        let at = self.bytes.len().saturating_sub(4);
        let (summed, stored) = self.bytes.split_at_checked(at).unwrap_or_default();
        let (stored, computed) = (Reader::new(STRUCTURE, stored).u32()?, crc32c::masked(summed));
        if stored == computed {
            Ok(())
        } else {
            Err(FormatError::new(STRUCTURE, at, format!("checksum {computed:08x}"), format_args!("{stored:08x}")))
        }
    }

    /// The first pass: addresses of all nodes, from the root down.
    fn walk_down(&self) -> Result<Vec<usize>, FormatError> {
        let mut addresses = Vec::new();
        // Whether some node points to the byte at this address.
        let mut pointed = vec![false; self.bytes.len()];
        let mut open = 1usize;
        if let Some(root) = pointed.get_mut(self.root) {
            *root = true;
        }
        let mut address = self.root;
        loop {
            if pointed.get(address) != Some(&true) {
                return Err(FormatError::new(STRUCTURE, address, "a node that another points to", "an unused one"));
            }
            open = open.saturating_sub(1);
            let node = self
                .node(address)
                .ok_or_else(|| FormatError::new(STRUCTURE, address, "a whole node", "one out of bounds"))?;
            node.check_form(address)?;
            addresses.push(address);
            for i in 0..node.len() {
                let target = self.transition(&node, i, address)?.target;
                match pointed.get_mut(target) {
                    _ if target == 0 => {}
                    Some(mark) if (HEAD_BYTES..node.start()).contains(&target) => {
                        if !*mark {
                            *mark = true;
                            open = open.saturating_add(1);
                        }
                    }
                    _ => return Err(FormatError::new(STRUCTURE, address, "a target below its node", target)),
                }
            }
            if node.start() == HEAD_BYTES {
                break;
            }
            // `start` is above HEAD_BYTES: the parser took nothing below it.
            address = node.start().saturating_sub(1);
        }
        if open == 0 {
            Ok(addresses)
        } else {
            Err(FormatError::new(STRUCTURE, HEAD_BYTES, "targets that are nodes", format_args!("{open} that are none")))
        }
    }

    /// The second pass: counts, outputs and heights, from the lowest node to the root.
    fn walk_up(&self, addresses: &[usize]) -> Result<(), FormatError> {
        let mut keys_below = vec![0u16; self.bytes.len()];
        let mut heights = vec![0u8; self.bytes.len()];
        let mut total = 0usize;
        for &address in addresses.iter().rev() {
            let node = self.node(address).ok_or_else(|| FormatError::new(STRUCTURE, address, "a node", "none"))?;
            let mut keys = usize::from(node.is_final());
            let mut height = 0u8;
            for i in 0..node.len() {
                let transition = self.transition(&node, i, address)?;
                if transition.output != keys {
                    return Err(FormatError::new(STRUCTURE, address, format!("output {keys}"), transition.output));
                }
                let (below, high) = match transition.target {
                    0 => (1, 0),
                    target => (
                        keys_below.get(target).copied().unwrap_or_default(),
                        heights.get(target).copied().unwrap_or_default(),
                    ),
                };
                keys = keys.saturating_add(usize::from(below));
                height =
                    height
                        .max(high.checked_add(1).ok_or_else(|| {
                            FormatError::new(STRUCTURE, address, "keys of at most 255 bytes", "more")
                        })?);
            }
            let counted = u16::try_from(keys).ok().filter(|_| (1..=self.count).contains(&keys)).ok_or_else(|| {
                FormatError::new(STRUCTURE, address, format!("1 to {} keys below a node", self.count), keys)
            })?;
            if let (Some(below), Some(high)) = (keys_below.get_mut(address), heights.get_mut(address)) {
                (*below, *high) = (counted, height);
            }
            total = keys;
        }
        self.check_count(total)
    }

    /// Compares the keys counted with those of the foot.
    fn check_count(&self, counted: usize) -> Result<(), FormatError> {
        if counted == self.count {
            Ok(())
        } else {
            let at = self.bytes.len().saturating_sub(FOOT_BYTES);
            Err(FormatError::new(STRUCTURE, at, format!("{counted} keys, as counted"), self.count))
        }
    }

    /// A transition that the node's length says is there.
    fn transition(&self, node: &Node<'a>, i: usize, address: usize) -> Result<Transition, FormatError> {
        node.transition(i)
            .ok_or_else(|| FormatError::new(STRUCTURE, address, "a target below its node", "one out of bounds"))
    }
}

#[cfg(test)]
pub(crate) mod tests;
