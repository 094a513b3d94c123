//! Sets of ids: the low halves of up to 65,536 neighbouring ids, whose common high half is in the key.
//!
//! Segments hold parts of a set, which are added up; a part may also replace what older segments say ([`decode_update`]).
//!
//! Links between chunks, entities, documents and records are such sets. Most have one or two members, so up to
//! [`SMALL_IDS`] are gaps as varints, after a byte that is their number. A larger set is a roaring bitmap in the portable
//! format, which any roaring library reads. One set has one container of at most 8 KiB, and three kinds of it are
//! enough: an array, a bitmap, or runs where these are strictly shorter. Codec and checks are here in full, since the
//! deserialisers at hand take a container's count, or its offset, on trust.

use crate::FormatError;
use crate::bytes::{Reader, put_varint};

/// Up to this many members a set is written as gaps.
pub const SMALL_IDS: usize = 16;
/// First byte of a set written as a roaring bitmap.
const FORM_ROARING: u8 = 17;
/// First byte of a set that replaces what older segments say, where it is not added to that; the set follows.
const FORM_REPLACING: u8 = 18;
/// Name of the structure in errors.
const STRUCTURE: &str = "id set";

/// First number of a portable bitmap without run containers.
const COOKIE_PLAIN: u32 = 12_346;
/// First number of a portable bitmap with run containers; the high half, containers less one, is 0.
const COOKIE_RUNS: u32 = 12_347;
/// Where the container of a bitmap without runs starts: after cookie, container count, key and cardinality, and offset.
const PLAIN_CONTAINER_AT: u32 = 16;
/// Most members of an array container; above it is a bitmap.
const ARRAY_IDS: usize = 4096;
/// Words of a bitmap container.
const BITMAP_WORDS: usize = 1024;

/// Appends the set of `values`; fails, and appends nothing, where they do not ascend strictly. The empty set is one
/// byte.
pub fn encode(values: &[u16], out: &mut Vec<u8>) -> Result<(), FormatError> {
    if let Some(i) = values.windows(2).position(|pair| matches!(pair, [a, b] if a >= b)) {
        return Err(FormatError::new(STRUCTURE, out.len(), "members that ascend", format_args!("another at {i}")));
    }
    if values.len() <= SMALL_IDS {
        out.push(values.len() as u8);
        let mut next = 0u64;
        for &value in values {
            put_varint(out, u64::from(value).saturating_sub(next));
            next = u64::from(value).saturating_add(1);
        }
        return Ok(());
    }
    out.push(FORM_ROARING);
    // At most 65,536 members ascend strictly, so their number less one has 16 bits.
    let cardinality = (values.len().saturating_sub(1) as u16).to_le_bytes();
    let runs = runs(values);
    if run_bytes(runs.len()) < plain_bytes(values.len()) {
        out.extend_from_slice(&COOKIE_RUNS.to_le_bytes());
        out.push(1); // The one container is one of runs.
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&cardinality);
        out.extend_from_slice(&(runs.len() as u16).to_le_bytes());
        for (start, more) in runs {
            out.extend_from_slice(&start.to_le_bytes());
            out.extend_from_slice(&more.to_le_bytes());
        }
        return Ok(());
    }
    out.extend_from_slice(&COOKIE_PLAIN.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&cardinality);
    out.extend_from_slice(&PLAIN_CONTAINER_AT.to_le_bytes());
    if values.len() <= ARRAY_IDS {
        out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    } else {
        let mut words = [0u64; BITMAP_WORDS];
        for &value in values {
            if let Some(word) = words.get_mut(usize::from(value / 64)) {
                *word |= 1 << (value % 64);
            }
        }
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    Ok(())
}

/// Appends a set that replaces what older segments say; as [`encode`] otherwise.
pub fn encode_replacing(values: &[u16], out: &mut Vec<u8>) -> Result<(), FormatError> {
    let start = out.len();
    out.push(FORM_REPLACING);
    encode(values, out).inspect_err(|_| out.truncate(start))
}

/// Reads what a segment says of a set: its members, and whether they replace what older segments say.
pub fn decode_update(bytes: &[u8]) -> Result<(bool, Vec<u16>), FormatError> {
    match bytes.split_first() {
        Some((&FORM_REPLACING, set)) => Ok((true, decode(set)?)),
        _ => Ok((false, decode(bytes)?)),
    }
}

/// Reads what a segment says of a set as [`decode_update`] does, and appends its members to `out`, each behind its `piece`.
/// Where they replace what older segments say, what `out` has of the piece is dropped.
pub fn add_update(bytes: &[u8], piece: u16, out: &mut Vec<u32>) -> Result<(), FormatError> {
    let high = u32::from(piece) << 16;
    let set = match bytes.split_first() {
        Some((&FORM_REPLACING, set)) => {
            out.retain(|&id| id >> 16 != u32::from(piece));
            set
        }
        _ => bytes,
    };
    match set.split_first() {
        Some((&count, _)) if usize::from(count) <= SMALL_IDS => {
            let mut reader = Reader::new(STRUCTURE, set);
            reader.u8()?;
            let start = out.len();
            out.reserve(usize::from(count));
            for_each_small(&mut reader, usize::from(count), |low| out.push(high | u32::from(low)))
                .and_then(|()| reader.finish())
                .inspect_err(|_| out.truncate(start))
        }
        _ => {
            out.extend(decode(set)?.into_iter().map(|low| high | u32::from(low)));
            Ok(())
        }
    }
}

/// Reads a set: its members, strictly ascending. Whatever is accepted is what [`encode`] writes for those members.
pub fn decode(bytes: &[u8]) -> Result<Vec<u16>, FormatError> {
    let mut reader = Reader::new(STRUCTURE, bytes);
    let values = match reader.u8()? {
        count if usize::from(count) <= SMALL_IDS => decode_small(&mut reader, usize::from(count))?,
        FORM_ROARING => decode_roaring(&mut reader)?,
        form => return Err(reader.fail("a form of at most 17", form)),
    };
    reader.finish()?;
    Ok(values)
}

fn decode_small(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u16>, FormatError> {
    let mut values = Vec::with_capacity(count);
    for_each_small(reader, count, |value| values.push(value))?;
    Ok(values)
}

/// Reads the members of a set that is written as gaps.
fn for_each_small(reader: &mut Reader<'_>, count: usize, mut sink: impl FnMut(u16)) -> Result<(), FormatError> {
    let mut next = 0u64;
    for _ in 0..count {
        let value = u16::try_from(next.saturating_add(reader.varint()?))
            .map_err(|_| reader.fail("a member of 16 bits", "a greater one"))?;
        sink(value);
        next = u64::from(value).saturating_add(1);
    }
    Ok(())
}

/// Reads a portable bitmap of the one container that a set has.
fn decode_roaring(reader: &mut Reader<'_>) -> Result<Vec<u16>, FormatError> {
    let has_runs = match reader.u32()? {
        COOKIE_PLAIN => {
            let containers = reader.u32()?;
            if containers != 1 {
                return Err(reader.fail("one container", containers));
            }
            false
        }
        COOKIE_RUNS => {
            let run_flags = reader.u8()?;
            if run_flags != 1 {
                return Err(reader.fail("one container, of runs", run_flags));
            }
            true
        }
        cookie => return Err(reader.fail("the cookie of one roaring container", cookie)),
    };
    let key = reader.u16()?;
    if key != 0 {
        return Err(reader.fail("container key 0", key));
    }
    let count = usize::from(reader.u16()?).saturating_add(1);
    if count <= SMALL_IDS {
        return Err(reader.fail("more than 16 members in a bitmap", count));
    }
    if has_runs {
        return decode_runs(reader, count);
    }
    let offset = reader.u32()?;
    if offset != PLAIN_CONTAINER_AT {
        return Err(reader.fail("a container at 16", offset));
    }
    let values: Vec<u16> = if count <= ARRAY_IDS {
        let (values, _) = reader.take(count.saturating_mul(2))?.as_chunks();
        values.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect()
    } else {
        let (words, _) = reader.take(BITMAP_WORDS * 8)?.as_chunks();
        let mut values = Vec::with_capacity(count);
        for (high, bytes) in (0..=u16::MAX).step_by(64).zip(words) {
            let mut word = u64::from_le_bytes(*bytes);
            while word != 0 {
                values.push(high | word.trailing_zeros() as u16);
                word &= word.wrapping_sub(1);
            }
        }
        values
    };
    if values.len() != count || !values.is_sorted_by(|a, b| a < b) {
        return Err(reader.fail("as many members as the container says, ascending", values.len()));
    }
    let runs = values.windows(2).filter(|pair| matches!(pair, [a, b] if a.wrapping_add(1) != *b)).count();
    if run_bytes(runs.saturating_add(1)) < plain_bytes(count) {
        return Err(reader.fail("runs, as they are shorter", "an array or a bitmap"));
    }
    Ok(values)
}

/// Reads a run container of `count` members; that is at most 65,536.
fn decode_runs(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u16>, FormatError> {
    let runs = usize::from(reader.u16()?);
    if run_bytes(runs) >= plain_bytes(count) {
        return Err(reader.fail("an array or a bitmap, as it is no longer", "runs"));
    }
    let mut values = Vec::with_capacity(count);
    // The least start that the next run may have: runs that touch would be one.
    let mut least = 0u32;
    for _ in 0..runs {
        let (start, more) = (reader.u16()?, reader.u16()?);
        let end = start.checked_add(more).filter(|_| u32::from(start) >= least);
        let Some(end) = end else {
            return Err(reader.fail("runs that ascend and do not touch", "another"));
        };
        values.extend(start..=end);
        least = u32::from(end).saturating_add(2);
    }
    if values.len() == count {
        Ok(values)
    } else {
        Err(reader.fail("as many members as the container says", values.len()))
    }
}

/// The runs of a set: each its first member and how many more follow.
fn runs(values: &[u16]) -> Vec<(u16, u16)> {
    values
        .chunk_by(|a, b| a.checked_add(1) == Some(*b))
        .filter_map(|run| Some((*run.first()?, run.len().saturating_sub(1) as u16)))
        .collect()
}

/// Bytes of a run container.
fn run_bytes(runs: usize) -> usize {
    runs.saturating_mul(4).saturating_add(2)
}

/// Bytes of an array or a bitmap container.
fn plain_bytes(count: usize) -> usize {
    if count <= ARRAY_IDS { count.saturating_mul(2) } else { BITMAP_WORDS * 8 }
}

#[cfg(test)]
mod tests;
