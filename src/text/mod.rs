//! Text as the engine sees it: tokens and keys for what is searched, sentences and chunks for what is stored.
//!
//! Everything here is a pure function of its input. Text is never changed: Markdown and plain text are both taken as
//! they are, and the chunks of a source, one after another, are the source byte for byte.
//!
//! * [`tokens`], [`for_each_token`] (tokenizer 1): the terms of postings and queries. Their definition belongs to the
//!   file format, by the number [`TOKENIZER`].
//! * [`key`]: the form in which names and aliases are compared.
//! * [`sentences`]: sentence boundaries, lazily.
//! * [`Chunker`]: cuts a source into chunks of whole sentences within a budget of words.
//! * [`Chunking`]: by sentences, by headed sections, or by the rows of tables, with titles.
//! * [`utf8`]: the one place where bytes from outside become text.
//!
//! Tokens and keys must not change for as long as a file lives; sentences and chunks may, because their outcome is
//! stored and never computed again.

mod abbreviation;
mod chunker;
mod chunking;
mod counting;
#[cfg(test)]
mod golden;
mod key;
pub(crate) mod layout;
mod prose;
mod sentence;
mod tokenizer;
mod utf8;
mod word;

pub use chunker::{Chunker, Chunks, DEFAULT_CHUNK_WORDS, word_count};
pub use chunking::{CHUNK_TITLE_BYTES, ChunkPlan, Chunking};
pub(crate) use counting::{TermCounter, TermCounts, TermHasher};
pub use key::key;
pub use sentence::{Sentences, sentences};
pub(crate) use tokenizer::bounded;
pub use tokenizer::{TOKENIZER, UNICODE_VERSION, for_each_token, for_each_unit_token, tokens};
pub use utf8::utf8;
