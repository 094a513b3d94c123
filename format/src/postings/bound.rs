//! What no posting of a block can exceed.

use super::Posting;

/// A frequency code that stands for any frequency.
const ANY_FREQUENCY: u8 = u8::MAX;
/// Lengths below this are their own codes.
const PLAIN_LENGTHS: u32 = 32;
/// Bits of a length behind its highest one that a code keeps.
const MANTISSA_BITS: u32 = 4;

/// The greatest frequency and the least length of a unit among some postings, each in one byte: a frequency up to 254 as
/// it is; a length up to 31 as it is, a greater one rounded down to five significant bits. Tombstones do not count.
///
/// ```
/// use plica_format::postings::{Bound, Posting};
/// let postings = [Posting { id: 3, frequency: 2 }, Posting { id: 9, frequency: 5 }];
/// let bound = Bound::of(&postings, &[250, 300]);
/// assert_eq!((bound.greatest_frequency(), bound.least_length()), (5, 248));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    frequency: u8,
    length: u8,
}

impl Bound {
    /// The bound of no postings at all: nothing exceeds less.
    pub const NONE: Self = Self { frequency: 0, length: u8::MAX };
    /// The bound that says nothing.
    pub const ANY: Self = Self { frequency: ANY_FREQUENCY, length: 0 };

    /// The bound of `postings` whose units have `lengths`, in tokens; of a unit without a length, the length is 0.
    pub fn of(postings: &[Posting], lengths: &[u32]) -> Self {
        let mut bound = Self::NONE;
        for (at, posting) in postings.iter().enumerate() {
            if posting.frequency > 0 {
                bound = bound.joined(Self::one(posting.frequency, lengths.get(at).copied().unwrap_or_default()));
            }
        }
        bound
    }

    /// The bound of one posting.
    pub fn one(frequency: u32, length: u32) -> Self {
        let frequency = u8::try_from(frequency).unwrap_or(ANY_FREQUENCY);
        Self { frequency, length: length_code(length) }
    }

    /// The bound of both.
    pub fn joined(self, other: Self) -> Self {
        Self { frequency: self.frequency.max(other.frequency), length: self.length.min(other.length) }
    }

    /// No frequency is greater; 0 where there are tombstones alone.
    pub fn greatest_frequency(self) -> u32 {
        if self.frequency == ANY_FREQUENCY { u32::MAX } else { u32::from(self.frequency) }
    }

    /// No length is less.
    pub fn least_length(self) -> u32 {
        let code = u32::from(self.length);
        let Some(above) = code.checked_sub(PLAIN_LENGTHS) else { return code };
        let mantissa = (above & ((1 << MANTISSA_BITS) - 1)) | 1 << MANTISSA_BITS;
        // At most 2^5 << 14.
        mantissa << (above >> MANTISSA_BITS).saturating_add(1)
    }

    /// Reads it.
    pub(super) fn from_bytes([frequency, length]: [u8; 2]) -> Self {
        Self { frequency, length }
    }

    /// As it is written.
    pub(super) fn bytes(self) -> [u8; 2] {
        [self.frequency, self.length]
    }
}

/// The code of the greatest length that has one and is not above `length`.
fn length_code(length: u32) -> u8 {
    if length < PLAIN_LENGTHS {
        return length as u8;
    }
    // The highest bit is bit 5 or above.
    let exponent = length.ilog2().saturating_sub(MANTISSA_BITS).saturating_sub(1);
    let mantissa = length >> exponent.saturating_add(1) & ((1 << MANTISSA_BITS) - 1);
    let code = PLAIN_LENGTHS.saturating_add(exponent << MANTISSA_BITS | mantissa);
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bound_exceeds_nothing_and_is_close(frequency in 1u32..1000, length in 0u32..300_000) {
            let bound = Bound::one(frequency, length);
            prop_assert!(bound.greatest_frequency() >= frequency);
            prop_assert!(bound.least_length() <= length);
            prop_assert!(u64::from(bound.least_length()) * 17 + 16 >= u64::from(length) * 16);
        }
    }

    #[test]
    fn codes_ascend_with_lengths_and_name_themselves() {
        let mut last = None;
        for code in 0..=u8::MAX {
            let length = Bound { frequency: 1, length: code }.least_length();
            assert!(last.is_none_or(|last| last < length), "code {code}");
            assert_eq!(length_code(length), code);
            last = Some(length);
        }
        assert_eq!(length_code(u32::MAX), u8::MAX);
    }

    #[test]
    fn tombstones_do_not_count() {
        let postings = [Posting { id: 1, frequency: 0 }, Posting { id: 2, frequency: 3 }];
        assert_eq!(Bound::of(&postings, &[1, 100]), Bound::one(3, 100));
        assert_eq!(Bound::of(&postings[..1], &[1]), Bound::NONE);
    }
}
