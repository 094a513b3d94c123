//! Files that no checksum finds fault with, and that are wrong all the same: each is refused with an error that says what is
//! wrong, or named by a check, within bounds of memory and time that do not depend on what the file claims.
//!
//! Each file is made from a sound one by a [`forge::Forge`], which puts all references and checksums right. A `Trial` uses all of
//! it; its memory is counted by the allocator of this program.

#[path = "../common/mod.rs"]
mod common;
mod counts;
#[path = "../common/forge.rs"]
mod forge;
mod head;
mod leaves;
mod outlines;
mod references;
mod texts;
mod trial;
