//! Bit packing: 128 numbers, or the fewer of a last block, in as many bits each as the greatest needs.
//!
//! A full block is laid out in four *lanes*: number `i` is in lane `i % 4`, and a lane's 32 numbers of `width` bits fill
//! `width` words of 32 bits, low bits first; word `w` of lane `l` is word `4w + l` of the block. So one step of the
//! loop, that shifts, joins and masks, does the same thing to four neighbouring words, and the compiler makes one vector
//! instruction of each. A last block would waste up to 15 bytes a bit that way, and is a plain string of bits instead,
//! low bits first.

use super::BLOCK_POSTINGS;

/// Lanes of a full block.
const LANES: usize = 4;
/// Bits of a word.
const WORD_BITS: usize = 32;

/// Bits that `number` needs; 0 for 0.
pub(super) fn width(number: u32) -> u8 {
    // At most 32.
    WORD_BITS.saturating_sub(number.leading_zeros() as usize) as u8
}

/// Bytes of `count` numbers of `width` bits; a full block comes out the same in either layout.
pub(super) fn packed_bytes(count: usize, width: u8) -> usize {
    count.saturating_mul(usize::from(width)).div_ceil(8)
}

/// Appends a block of at most 128 numbers, none of more than `width` bits.
pub(super) fn pack(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    match <&[u32; BLOCK_POSTINGS]>::try_from(numbers) {
        Ok(numbers) => pack_lanes(numbers, width, out),
        Err(_) => pack_string(numbers, width, out),
    }
}

fn pack_lanes(numbers: &[u32; BLOCK_POSTINGS], width: u8, out: &mut Vec<u8>) {
    let (rows, _) = numbers.as_chunks::<LANES>();
    // Bits that fill no word yet, by lane.
    let mut open = [0u64; LANES];
    let mut bits = 0u32;
    for row in rows {
        for (lane, &number) in open.iter_mut().zip(row) {
            *lane |= u64::from(number) << bits;
        }
        bits = bits.saturating_add(u32::from(width));
        if bits as usize >= WORD_BITS {
            for lane in &mut open {
                out.extend_from_slice(&(*lane as u32).to_le_bytes());
                *lane >>= WORD_BITS;
            }
            bits = bits.saturating_sub(WORD_BITS as u32);
        }
    }
}

fn pack_string(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    let (mut open, mut bits) = (0u64, 0u32);
    for &number in numbers {
        open |= u64::from(number) << bits;
        bits = bits.saturating_add(u32::from(width));
        while bits >= 8 {
            out.push(open as u8);
            open >>= 8;
            bits = bits.saturating_sub(8);
        }
    }
    if bits > 0 {
        out.push(open as u8);
    }
}

/// Reads what [`pack`] wrote: the first `count` of `out`. Answers `None` where `bytes` is not exactly as long as it must
/// be, `width` is over 32 or not the least that would do, or bits that pad the last byte are set.
pub(super) fn unpack(bytes: &[u8], count: usize, width: u8, out: &mut [u32; BLOCK_POSTINGS]) -> Option<()> {
    if usize::from(width) > WORD_BITS || bytes.len() != packed_bytes(count, width) {
        return None;
    }
    if width == 0 {
        *out = [0; BLOCK_POSTINGS];
        return Some(());
    }
    let seen = if count == BLOCK_POSTINGS {
        unpack_lanes(bytes, width, out)?
    } else {
        unpack_string(bytes, width, out.get_mut(..count)?)?
    };
    (self::width(seen) == width).then_some(())
}

/// Unpacks four lanes; answers all numbers or-ed.
fn unpack_lanes(bytes: &[u8], width: u8, out: &mut [u32; BLOCK_POSTINGS]) -> Option<u32> {
    // One copy of the loop for each width, so that every shift and mask in it is a constant.
    macro_rules! of_width {
        ($($width:literal)*) => {
            match width {
                $($width => lanes::<$width>(bytes, out),)*
                _ => None,
            }
        };
    }
    of_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// [`unpack_lanes`] of one width.
fn lanes<const WIDTH: usize>(bytes: &[u8], out: &mut [u32; BLOCK_POSTINGS]) -> Option<u32> {
    let mask = u32::MAX >> (WORD_BITS as u32).saturating_sub(WIDTH as u32);
    let mut rows = bytes.as_chunks::<{ 4 * LANES }>().0.iter().map(|row| {
        let mut words = [0u32; LANES];
        for (word, bytes) in words.iter_mut().zip(row.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    });
    let mut seen = [0u32; LANES];
    let mut low = rows.next()?;
    // The lowest bit of the next number in its word.
    let mut shift = 0u32;
    for row in out.as_chunks_mut::<LANES>().0 {
        let end = shift.saturating_add(WIDTH as u32);
        if end as usize > WORD_BITS {
            let high = rows.next()?;
            let up = (WORD_BITS as u32).saturating_sub(shift);
            for (((number, seen), low), high) in row.iter_mut().zip(&mut seen).zip(&low).zip(&high) {
                *number = (low >> shift | high << up) & mask;
                *seen |= *number;
            }
            low = high;
            shift = end.saturating_sub(WORD_BITS as u32);
        } else {
            for ((number, seen), low) in row.iter_mut().zip(&mut seen).zip(&low) {
                *number = low >> shift & mask;
                *seen |= *number;
            }
            shift = end;
            if end as usize == WORD_BITS {
                low = rows.next().unwrap_or_default();
                shift = 0;
            }
        }
    }
    let [a, b, c, d] = seen;
    Some(a | b | c | d)
}

/// Unpacks a string of bits; answers all numbers or-ed, and `None` where padding is set.
fn unpack_string(bytes: &[u8], width: u8, out: &mut [u32]) -> Option<u32> {
    let mask = (1u64 << width).wrapping_sub(1);
    // Each number, of at most 32 bits, begins in the first byte of a word of 64 bits.
    let mut padded = [0u8; BLOCK_POSTINGS * 4 + 8];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let (mut bit, mut seen) = (0usize, 0u32);
    for number in out {
        let word = padded.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>)?;
        *number = (u64::from_le_bytes(*word) >> (bit % 8) & mask) as u32;
        seen |= *number;
        bit = bit.saturating_add(usize::from(width));
    }
    let padding = match bit % 8 {
        0 => 0,
        used => bytes.last()? >> used,
    };
    (padding == 0).then_some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_of_every_width_read_back(width in 0u8..=32, count in 1usize..=128, numbers: [u32; 32]) {
            let mask = (1u64 << width) - 1;
            let mut numbers: Vec<u32> =
                numbers.iter().cycle().take(count).map(|number| (u64::from(*number) & mask) as u32).collect();
            numbers[count / 2] = mask as u32; // So that the width is the least that will do.
            let mut packed = Vec::new();
            pack(&numbers, width, &mut packed);
            prop_assert_eq!(packed.len(), packed_bytes(count, width));
            let mut out = [7; BLOCK_POSTINGS];
            prop_assert_eq!(unpack(&packed, count, width, &mut out), Some(()));
            prop_assert_eq!(&out[..count], &numbers[..]);
            // One bit more than needed is another form of the same numbers, and refused.
            if width < 32 {
                let mut wide = Vec::new();
                pack(&numbers, width + 1, &mut wide);
                prop_assert_eq!(unpack(&wide, count, width + 1, &mut out), None);
            }
        }
    }

    #[test]
    fn set_padding_is_refused() {
        let mut out = [0; BLOCK_POSTINGS];
        assert_eq!(unpack(&[0b0111_0101], 2, 3, &mut out), None);
        assert_eq!(unpack(&[0b0011_0101], 2, 3, &mut out), Some(()));
        assert_eq!(out[..2], [5, 6]);
    }
}
