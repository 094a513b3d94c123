//! The store: the only layer that does input and output.
//!
//! A file is page 0, four head slots, and blocks one after another. Reading: [`open_read`] chooses the newest commit
//! by the slots and gives [`Blocks`], which answer references with checked payloads. Writing: [`StoreWriter`] appends
//! blocks and makes commits, each with one sync; opening one recovers what a dead writer left. Beneath both lie small
//! traits ([`source`]), so that everything above runs over a file, a map, bytes in memory, or a simulated medium.
//!
//! What stands in the file, and why a commit survives what it must, is argued in the format's specification.

mod blocks;
mod cache;
mod checked;
mod codec;
mod head;
mod map;
mod memory;
mod named;
mod open;
mod positioned;
mod scan;
#[cfg(any(test, feature = "simulation"))]
pub(crate) mod simulated;
mod source;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use blocks::{Blocks, Payload};
pub(crate) use codec::{Compression, TRAINED_BYTES, TRAINED_BYTES_MOST, train};
pub(crate) use head::Head;
pub use open::SourceKind;
#[cfg(any(test, feature = "simulation"))]
pub(crate) use open::open_past;
pub(crate) use open::{Opened, ReadOptions, Refresh, open_bytes, open_read};
pub(crate) use scan::{Met, Scan, Stretch, each_block, scan};
pub(crate) use writer::{Durability, StoreWriter, WriteOptions, copy};
