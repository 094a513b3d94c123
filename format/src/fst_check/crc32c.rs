//! CRC-32C as the `fst` crate stores it, eight bytes a step.

/// The Castagnoli polynomial, bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[k][b]`: what byte `b` does to the sum when `k` more bytes follow it in the same step.
static TABLES: [[u32; 256]; 8] = tables();

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // Runs in the compiler: a panic would be its error.
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut k = 0;
    while k < 8 {
        let mut b = 0;
        while b < 256 {
            tables[k][b] = if k == 0 {
                let (mut sum, mut bit) = (b as u32, 0);
                while bit < 8 {
                    sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
                    bit += 1;
                }
                sum
            } else {
                let shorter: u32 = tables[k - 1][b];
                (shorter >> 8) ^ tables[0][(shorter & 0xff) as usize]
            };
            b += 1;
        }
        k += 1;
    }
    tables
}

/// The CRC-32C of `bytes`, rotated and offset, so that a sum over bytes that hold sums stays a good sum.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    let (steps, rest) = bytes.as_chunks::<8>();
    for step in steps {
        let [a, b, c, d, e, f, g, h] = (u64::from_le_bytes(*step) ^ u64::from(sum)).to_le_bytes();
        sum = look_up(7, a)
            ^ look_up(6, b)
            ^ look_up(5, c)
            ^ look_up(4, d)
            ^ look_up(3, e)
            ^ look_up(2, f)
            ^ look_up(1, g)
            ^ look_up(0, h);
    }
    for &byte in rest {
        let [low, ..] = sum.to_le_bytes();
        sum = (sum >> 8) ^ look_up(0, low ^ byte);
    }
    (!sum).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// One entry of the tables; both indexes are within them.
#[inline]
fn look_up(k: usize, byte: u8) -> u32 {
    TABLES.get(k).and_then(|table| table.get(usize::from(byte))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn the_sum_is_crc_32c() {
        // The check value of CRC-32C, then the mask.
        assert_eq!(masked(b"123456789"), 0xe306_9283u32.rotate_right(15).wrapping_add(0xa282_ead8));
        assert_eq!(masked(b""), 0xa282_ead8);
    }
}
