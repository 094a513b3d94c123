//! Pages of a document's fold tree.
//!
//! The tree is a B+-tree over the chunks in reading order. A node of level 0 is a chunk; `f` consecutive nodes of a
//! level (`f` the fan-out) are folded into one node of the level above, whose summary covers them all. The page of a
//! node of level L ≥ 1 lists its `f` children, each with its cover (by arithmetic: a node of level L and index i covers
//! the chunks from `i·f^L`, `f^L` of them), its summary and a reference to its own page; so reading one page shows what
//! every child is about. Nodes that are not folded yet are the entries of one *open* page a level: as many as the digit
//! of the chunk count at that place, written to the base `f`.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_varint};
use crate::limits::{FANOUT_MOST, FOLD_LEVELS, SUMMARY_BYTES};
use crate::quote::Quoted;

/// A child that is a node of level 1 or above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its page.
    pub page: Reference,
    /// Its summary, where there is one; it quotes chunks of the document.
    pub summary: Option<Quoted>,
}

/// The children of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Children {
    /// Of a page of level 1: internal chunk ids.
    Chunks(Vec<u32>),
    /// Of a page above.
    Nodes(Vec<Child>),
}

impl Children {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Chunks(chunks) => chunks.len(),
            Self::Nodes(nodes) => nodes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldPage {
    /// Number of the document.
    pub document: u32,
    /// Level of the node that the page is, or will be when it is full; at least 1.
    pub level: u8,
    /// Ordinal of the first chunk that it covers.
    pub first: u32,
    /// Chunks that it covers.
    pub count: u32,
    /// Its children.
    pub children: Children,
}

/// What a parent knows of a page before reading it; the page must say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Number of the document.
    pub document: u32,
    /// Level.
    pub level: u8,
    /// Ordinal of the first chunk covered.
    pub first: u32,
    /// Chunks covered.
    pub count: u32,
}

/// Chunks that a node of `level` covers at fan-out `fanout`, where that fits 32 bits.
pub fn cover(fanout: u8, level: u8) -> Option<u32> {
    u32::from(fanout).checked_pow(u32::from(level))
}

/// What the head of a document implies of its open pages: level, first and count of each, lowest level first.
pub fn open_pages(document: u32, fanout: u8, chunks: u32) -> Vec<Expected> {
    let mut pages = Vec::new();
    let mut after = chunks;
    for level in 1..=FOLD_LEVELS as u8 {
        let Some(child) = cover(fanout, level.saturating_sub(1)) else { break };
        let digit = after.checked_div(child).and_then(|units| units.checked_rem(u32::from(fanout))).unwrap_or(0);
        let count = digit.saturating_mul(child);
        after = after.saturating_sub(count);
        if digit > 0 {
            pages.push(Expected { document, level, first: after, count });
        }
    }
    pages
}

impl FoldPage {
    /// The bytes of the page.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, u64::from(self.document));
        out.push(self.level);
        put_varint(&mut out, u64::from(self.first));
        put_varint(&mut out, u64::from(self.count));
        out.push(self.children.len() as u8);
        match &self.children {
            Children::Chunks(chunks) => {
                for chunk in chunks {
                    put_varint(&mut out, u64::from(*chunk));
                }
            }
            Children::Nodes(nodes) => {
                let mut ordinal = self.first;
                for node in nodes {
                    node.page.encode(&mut out);
                    out.push(u8::from(node.summary.is_some()));
                    if let Some(summary) = &node.summary {
                        summary.encode(&mut ordinal, &mut out);
                    }
                }
            }
        }
        out
    }

    /// What a page says of itself, for one that no parent leads to.
    pub fn claim(bytes: &[u8]) -> Result<Expected, FormatError> {
        let mut reader = Reader::new("fold page", bytes);
        let document = reader.varint32()?;
        let level = reader.u8()?;
        Ok(Expected { document, level, first: reader.varint32()?, count: reader.varint32()? })
    }

    /// Reads the page at `offset` of a tree of fan-out `fanout` and demands that it is what its parent expects.
    /// References must point strictly lower in the file, so no walk can come back to a page.
    pub fn decode(bytes: &[u8], offset: u64, fanout: u8, expected: Expected) -> Result<Self, FormatError> {
        let mut reader = Reader::new("fold page", bytes);
        let document = reader.varint32()?;
        let level = reader.u8()?;
        let first = reader.varint32()?;
        let count = reader.varint32()?;
        let got = Expected { document, level, first, count };
        if got != expected {
            return Err(FormatError::new("fold page", 0, format!("{expected:?}"), format_args!("{got:?}")));
        }
        let entries = reader.u8()?;
        let covers = level.checked_sub(1).and_then(|below| cover(fanout, below));
        let fits = entries >= 1
            && entries <= fanout.min(FANOUT_MOST)
            && covers.and_then(|cover| cover.checked_mul(u32::from(entries))) == Some(count);
        if !fits {
            return Err(reader.fail("as many entries as the cover says", entries));
        }
        let children = if level == 1 {
            let mut chunks: Vec<u32> = Vec::with_capacity(usize::from(entries));
            for _ in 0..entries {
                let chunk = reader.varint32()?;
                if chunks.last().is_some_and(|&last| last >= chunk) {
                    return Err(reader.fail("chunk ids in ascending order", chunk));
                }
                chunks.push(chunk);
            }
            Children::Chunks(chunks)
        } else {
            let mut nodes = Vec::with_capacity(usize::from(entries));
            let mut ordinal = first;
            for _ in 0..entries {
                let page = Reference::decode(&mut reader, BlockKind::Fold)?;
                if page.end() > offset {
                    return Err(reader.fail("a page that lies before this one", page.offset));
                }
                let summary = match reader.u8()? {
                    0 => None,
                    1 => Some(Quoted::decode(&mut reader, &mut ordinal, SUMMARY_BYTES)?),
                    other => return Err(reader.fail("0 or 1", other)),
                };
                nodes.push(Child { page, summary });
            }
            Children::Nodes(nodes)
        };
        reader.finish()?;
        Ok(Self { document, level, first, count, children })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(level: u8, first: u32, count: u32) -> Expected {
        Expected { document: 4, level, first, count }
    }

    #[test]
    fn open_pages_are_the_digits_of_the_chunk_count() {
        // 163 = 1·125 + 1·25 + 2·5 + 3
        assert_eq!(
            open_pages(4, 5, 163),
            [expected(1, 160, 3), expected(2, 150, 10), expected(3, 125, 25), expected(4, 0, 125)]
        );
        assert_eq!(open_pages(4, 5, 25), [expected(3, 0, 25)]);
        assert!(open_pages(4, 2, 0).is_empty());
        assert_eq!(open_pages(4, 2, u32::MAX).len(), 32);
        assert_eq!(open_pages(4, 16, u32::MAX).len(), 8);
    }

    #[test]
    fn pages_read_back_and_must_be_what_the_parent_expects() {
        let chunks =
            FoldPage { document: 4, level: 1, first: 10, count: 3, children: Children::Chunks(vec![7, 9, 10]) };
        let bytes = chunks.encode();
        assert_eq!(FoldPage::decode(&bytes, 30_000, 5, expected(1, 10, 3)).unwrap(), chunks);
        assert!(FoldPage::decode(&bytes, 30_000, 5, expected(1, 10, 4)).is_err());
        assert!(FoldPage::decode(&bytes, 30_000, 2, expected(1, 10, 3)).is_err());

        let page = Reference { offset: 20_480, stored_bytes: 100, kind: BlockKind::Fold, checksum: 1 };
        let nodes = FoldPage {
            document: 4,
            level: 2,
            first: 25,
            count: 10,
            children: Children::Nodes(vec![
                Child { page, summary: Some("They meet.".into()) },
                Child { page, summary: None },
            ]),
        };
        let bytes = nodes.encode();
        assert_eq!(FoldPage::decode(&bytes, 30_000, 5, expected(2, 25, 10)).unwrap(), nodes);
        assert!(FoldPage::decode(&bytes, 20_480, 5, expected(2, 25, 10)).is_err(), "a reference to itself");
        for cut in 0..bytes.len() {
            assert!(FoldPage::decode(&bytes[..cut], 30_000, 5, expected(2, 25, 10)).is_err());
        }
    }
}
