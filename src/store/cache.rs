//! A small bounded cache of payloads that had to be copied: decoded ones, and those of positioned reads.
//!
//! Each shard keeps two generations. What is found or put goes to the young one; when that is full the old one is
//! dropped and the young one becomes old. That keeps what is used, at constant cost and within a fixed bound.

use parking_lot::Mutex;
use plica_format::block::Reference;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of payload that all shards together keep at most.
const CACHE_BYTES: usize = 4 << 20;
/// Shards, each with a lock of its own.
const SHARDS: usize = 4;
/// Bytes of one generation of one shard.
const GENERATION_BYTES: usize = CACHE_BYTES / SHARDS / 2;

/// A generation: payloads by their references, so that one of an older file state at the same place is never found.
type Generation = HashMap<Reference, Arc<[u8]>>;

/// One shard.
#[derive(Default)]
struct Shard {
    /// Used lately.
    young: Generation,
    /// Bytes in `young`.
    young_bytes: usize,
    /// Dropped when `young` is full.
    old: Generation,
}

/// The cache of one file.
#[derive(Default)]
pub(crate) struct Cache {
    /// By offset.
    shards: [Mutex<Shard>; SHARDS],
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cache")
    }
}

impl Cache {
    /// The shard of a block.
    fn shard(&self, reference: &Reference) -> &Mutex<Shard> {
        &self.shards[(reference.offset / 64) as usize % SHARDS]
    }

    /// The payload that was put for just this reference.
    pub(crate) fn get(&self, reference: &Reference) -> Option<Arc<[u8]>> {
        let mut shard = self.shard(reference).lock();
        if let Some(bytes) = shard.young.get(reference) {
            return Some(bytes.clone());
        }
        let bytes = shard.old.remove(reference)?;
        shard.put(reference, bytes.clone());
        Some(bytes)
    }

    /// Keeps a payload for a while; one that would fill a generation by itself is not kept.
    pub(crate) fn put(&self, reference: &Reference, bytes: &Arc<[u8]>) {
        if bytes.len() <= GENERATION_BYTES {
            self.shard(reference).lock().put(reference, bytes.clone());
        }
    }
}

impl Shard {
    fn put(&mut self, reference: &Reference, bytes: Arc<[u8]>) {
        if self.young_bytes + bytes.len() > GENERATION_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes.len();
        if let Some(replaced) = self.young.insert(*reference, bytes) {
            self.young_bytes -= replaced.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plica_format::block::BlockKind;

    fn reference(at: u64) -> Reference {
        Reference { offset: 20_480 + at * 64, stored_bytes: 10, kind: BlockKind::Text, checksum: 1 }
    }

    #[test]
    fn what_is_used_stays_and_the_bound_holds() {
        let cache = Cache::default();
        let payload: Arc<[u8]> = vec![7; 10_000].into();
        cache.put(&reference(0), &payload);
        for at in 1..5_000 {
            cache.put(&reference(at), &payload);
            assert!(cache.get(&reference(0)).is_some(), "lost after {at}");
            assert!(cache.get(&reference(at)).is_some());
        }
        assert!(cache.get(&reference(1)).is_none());
        let kept: usize = cache
            .shards
            .iter()
            .map(|s| s.lock())
            .flat_map(|s| s.young.values().chain(s.old.values()).map(|b| b.len()).collect::<Vec<_>>())
            .sum();
        assert!(kept <= CACHE_BYTES, "{kept}");
    }

    #[test]
    fn another_block_at_the_same_place_is_not_found() {
        let cache = Cache::default();
        cache.put(&reference(3), &vec![1].into());
        let other = Reference { checksum: 2, ..reference(3) };
        assert!(cache.get(&other).is_none());
    }
}
