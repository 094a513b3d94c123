//! The bytes of a Plica index file.
//!
//! Everything a file may hold is a type of this crate, with an encoder that writes exactly one form and a decoder that
//! accepts nothing else. The crate does no input or output, holds no `unsafe` code, and its decoders cannot panic:
//! whatever the bytes are, the answer is a value or a [`FormatError`] that says what was expected, what was found and
//! where.
//!
//! `SPEC.md` beside this crate owns the layout; the modules follow its chapters, from the outside in:
//!
//! * [`bytes`]: the cursor and the integer encodings all else is written in;
//! * [`page`]: page 0 and the head slots; [`block`]: block headers and checked references; [`commit`]: commit blocks;
//! * [`key`]: the one ordered key space of a segment; [`leaf`], [`separator`]: its dictionary blocks;
//! * [`postings`], [`idset`]: lists of (id, frequency) and sets of ids; [`chunk`], [`entity`], [`document`],
//!   [`fold`], [`record`], [`state`]: the values.
#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::arithmetic_side_effects
)]
#![cfg_attr(
    test,
    allow(
        clippy::all,
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

pub mod block;
pub mod bytes;
pub mod chunk;
pub mod commit;
pub mod document;
pub mod entity;
mod error;
pub mod fold;
mod fst_check;
pub mod idset;
pub mod key;
pub mod leaf;
mod like_id;
pub mod limits;
pub mod outline;
pub mod outline_head;
mod outline_item;
pub mod page;
pub mod postings;
pub mod quote;
pub mod record;
pub mod separator;
pub mod state;

pub use error::FormatError;
