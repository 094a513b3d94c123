//! Payloads in and out of zstd, with contexts that are kept.

use plica_format::block::check_zstd_frame;
use plica_format::limits::{EXPANSION_RATIO, EXPANSION_SLACK_BYTES};
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

/// Level of everything that is appended.
const LEVEL: i32 = 3;

thread_local! {
    /// One decoder a thread: a fresh one costs more than most payloads.
    static DECODER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decodes one zstd frame into exactly `raw`; on error says what is wrong with it.
///
/// The frame's form is checked first, so that the decoder writes only to `raw` and needs no window of its own.
pub(crate) fn decompress(stored: &[u8], raw: &mut [u8]) -> Result<(), String> {
    check_zstd_frame(stored, raw.len() as u32).map_err(|error| error.to_string())?;
    match zstd_safe::find_frame_compressed_size(stored) {
        Ok(length) if length == stored.len() => {}
        Ok(length) => return Err(format!("one zstd frame of {} bytes expected, it ends after {length}", stored.len())),
        Err(code) => return Err(zstd_safe::get_error_name(code).to_owned()),
    }
    DECODER.with_borrow_mut(|decoder| {
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => decoder.insert(Decompressor::new().map_err(|error| error.to_string())?),
        };
        match decoder.decompress_to_buffer(stored, raw) {
            Ok(length) if length == raw.len() => Ok(()),
            Ok(length) => Err(format!("{} raw bytes expected, got {length}", raw.len())),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// A compressor and its output, both kept from payload to payload.
pub(crate) struct PayloadCompressor {
    /// Made when first needed.
    context: Option<Compressor<'static>>,
    /// The last output.
    out: Vec<u8>,
}

impl PayloadCompressor {
    /// A compressor that costs nothing until it is used.
    pub(crate) fn new() -> Self {
        Self { context: None, out: Vec::new() }
    }

    /// The payload as one zstd frame; None where storing it is smaller or the format's expansion bound asks for it.
    pub(crate) fn compress(&mut self, raw: &[u8]) -> Option<&[u8]> {
        if self.context.is_none() {
            self.context = Some(Compressor::new(LEVEL).ok()?);
        }
        self.out.clear();
        self.out.reserve(zstd_safe::compress_bound(raw.len()));
        self.context.as_mut()?.compress_to_buffer(raw, &mut self.out).ok()?;
        let (stored, raw_bytes) = (self.out.len() as u64, raw.len() as u64);
        let fits = stored < raw_bytes && stored * EXPANSION_RATIO + EXPANSION_SLACK_BYTES >= raw_bytes;
        // A frame of another form than the decoder demands is not written; zstd is free to choose it.
        (fits && check_zstd_frame(&self.out, raw.len() as u32).is_ok()).then_some(&self.out)
    }
}

impl std::fmt::Debug for PayloadCompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PayloadCompressor")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `length` bytes that compress about as text does.
    fn prose(length: usize) -> Vec<u8> {
        let mut state = 1u32;
        let words = std::iter::from_fn(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(format!("word{} ", state >> 27))
        });
        words.flat_map(String::into_bytes).take(length).collect()
    }

    #[test]
    fn what_is_compressed_has_the_demanded_form_at_every_size() {
        let mut compressor = PayloadCompressor::new();
        for length in [200, 255, 256, 300, 5_000, 65_535, 65_536, 70_000, 1 << 17, 1 << 20] {
            let raw = prose(length);
            let stored = compressor.compress(&raw).unwrap_or_else(|| panic!("{length} bytes were not compressed"));
            let mut out = vec![0; length];
            decompress(stored, &mut out).unwrap();
            assert_eq!(out, raw);
        }
    }

    #[test]
    fn a_payload_that_would_expand_too_much_or_not_shrink_is_stored() {
        let mut compressor = PayloadCompressor::new();
        assert!(compressor.compress(&[0; 1 << 20]).is_none());
        assert!(compressor.compress(b"short").is_none());
        assert!(compressor.compress(b"").is_none());
    }

    #[test]
    fn a_wrong_length_a_second_frame_and_flipped_bits_are_refused_or_change_the_bytes() {
        let raw = prose(3_000);
        let stored = PayloadCompressor::new().compress(&raw).unwrap().to_vec();
        let mut out = vec![0; 3_000];
        assert!(decompress(&stored, &mut out[..2_999]).is_err());
        assert!(decompress(&stored[..stored.len() - 1], &mut out).is_err());
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0];
        assert!(decompress(&[&stored[..], &skippable].concat(), &mut out).is_err());
        for bit in 0..stored.len() * 8 {
            let mut bad = stored.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decompress(&bad, &mut out);
        }
    }
}
