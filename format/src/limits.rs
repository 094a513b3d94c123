//! Every length, count and depth that the format bounds, with its unit in its name.

/// Blocks, payloads and head pages start at multiples of this.
pub const BLOCK_ALIGN_BYTES: u64 = 16;
/// A page: page 0 and each head slot.
pub const PAGE_BYTES: usize = 4096;
/// Where the first block may start: after page 0 and the four slots.
pub const FIRST_BLOCK_OFFSET: u64 = 5 * PAGE_BYTES as u64;
/// Greatest raw payload of any block.
pub const BLOCK_RAW_BYTES: usize = 1 << 20;
/// Greatest raw payload of a leaf, a posting piece or a value block.
pub const LEAF_RAW_BYTES: usize = 64 << 10;
/// Greatest raw payload of a separator page.
pub const SEPARATOR_RAW_BYTES: usize = 16 << 10;
/// Greatest raw payload of a commit block.
pub const COMMIT_RAW_BYTES: usize = 64 << 10;
/// Greatest state that a commit block carries.
pub const COMMIT_STATE_BYTES: usize = 60 << 10;
/// Every block and every file ends below this offset.
pub const OFFSET_BOUND: u64 = 1 << 62;
/// Sums of tokens, words, bytes, values and calls are below this.
pub const SUM_BOUND: u64 = 1 << 60;
/// A value longer than this is written as a block of its own and referenced from the leaf.
pub const INLINE_VALUE_BYTES: usize = 4 << 10;
/// Most keys in one leaf.
pub const LEAF_KEYS: usize = 16_384;
/// Levels of separator pages above the leaves of a segment.
pub const SEPARATOR_LEVELS: u8 = 8;
/// Most segments in one commit.
pub const SEGMENTS: usize = 256;

/// Text of one chunk, title included.
pub const CHUNK_BYTES: usize = 256 << 10;
/// One summary.
pub const SUMMARY_BYTES: usize = 4 << 10;
/// A document id, an external id, a name, an alias or any other key, after normalisation.
pub const KEY_BYTES: usize = 1 << 10;
/// One description.
pub const DESCRIPTION_BYTES: usize = 4 << 10;
/// A document's title.
pub const TITLE_BYTES: usize = 4 << 10;
/// A document's metadata, as JSON.
pub const METADATA_BYTES: usize = 64 << 10;
/// Smallest fan-out of a fold tree.
pub const FANOUT_LEAST: u8 = 2;
/// Greatest fan-out of a fold tree.
pub const FANOUT_MOST: u8 = 16;
/// Levels of a fold tree.
pub const FOLD_LEVELS: usize = 32;
/// Terms of one query.
pub const QUERY_TERMS: usize = 1024;
/// A token of the tokenizer, in bytes of UTF-8.
pub const TOKEN_BYTES: usize = 255;
/// Raw bytes may be at most this many times the stored bytes, plus [`EXPANSION_SLACK_BYTES`].
pub const EXPANSION_RATIO: u64 = 64;
/// See [`EXPANSION_RATIO`].
pub const EXPANSION_SLACK_BYTES: u64 = 4 << 10;

/// Categories above a subject.
pub const OUTLINE_DEPTH: usize = 16;
/// Entries of a page of an outline.
pub const OUTLINE_ENTRIES: usize = 64;
/// Levels of the pages of one node of an outline.
pub const OUTLINE_LEVELS: u8 = 32;
/// Greatest raw payload of a page of an outline.
pub const OUTLINE_PAGE_BYTES: usize = 128 << 10;
/// A value of a field; a longer one is kept as its span.
pub const VALUE_BYTES: usize = 4 << 10;
/// Values of one subject.
pub const SUBJECT_VALUES: usize = 1 << 16;
/// Links of one subject.
pub const SUBJECT_LINKS: usize = 256;
/// The summary of a page of an outline.
pub const PAGE_SUMMARY_BYTES: usize = 1 << 10;
/// Names of the fields to record under one category.
pub const CATEGORY_FIELDS: usize = 256;
/// What a compiler hands on from piece to piece.
pub const CONTEXT_BYTES: usize = 1 << 10;
/// Longest key by which the entries of an outline are ordered.
pub const ORDER_KEY_BYTES: usize = 3 << 10;
