//! Payloads in and out of zstd, with contexts that are kept.
//!
//! Two codecs: a frame by itself, and a frame with the dictionary of the file. A dictionary holds what texts of the file
//! say again and again, so that a text block can stay small, and be read quickly, and be compressed as well as a large
//! one.

use plica_format::block::{BlockKind, Codec, check_zstd_frame};
use plica_format::limits::{EXPANSION_RATIO, EXPANSION_SLACK_BYTES};
use std::cell::RefCell;
use std::sync::Arc;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{self, CParameter, DCtx, DDict};

/// Level of what is appended, where nothing else is asked for.
const LEVEL: i32 = 3;
/// Level of a dictionary itself, of which there is one: 19 takes three times as long for less than a hundredth.
const DICTIONARY_LEVEL: i32 = 15;
/// Texts of fewer bytes do not earn back what their dictionary takes.
pub(crate) const TRAINED_BYTES: usize = 256 << 10;
/// Texts of more bytes say little more to the trainer.
pub(crate) const TRAINED_BYTES_MOST: usize = 1 << 20;
/// A dictionary has one byte for this many bytes of the texts that it is trained with.
const TEXT_A_DICTIONARY_BYTE: usize = 8;
/// Least and greatest size of a dictionary.
const DICTIONARY_BYTES: (usize, usize) = (32 << 10, 112 << 10);

thread_local! {
    /// One decoder a thread: a fresh one costs more than most payloads.
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// A dictionary of which a reader decodes, prepared once.
pub(crate) struct PreparedDictionary(DDict<'static>);

impl PreparedDictionary {
    /// Prepares a dictionary; `None` where zstd cannot use the bytes as one.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        DDict::try_create(bytes).map(Self)
    }
}

impl std::fmt::Debug for PreparedDictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PreparedDictionary")
    }
}

/// Trains a dictionary with texts, whose sizes within `texts` are given. `None` where they are too few or too much
/// alike; then they do well without. The same texts give the same dictionary.
pub(crate) fn train(texts: &[u8], sizes: &[usize]) -> Option<Vec<u8>> {
    if texts.len() < TRAINED_BYTES || sizes.iter().sum::<usize>() != texts.len() {
        return None;
    }
    let size = (texts.len() / TEXT_A_DICTIONARY_BYTE).clamp(DICTIONARY_BYTES.0, DICTIONARY_BYTES.1);
    let dictionary = zstd::dict::from_continuous(texts, sizes, size).ok()?;
    // What a reader could not use must not be written.
    PreparedDictionary::new(&dictionary).is_some().then_some(dictionary)
}

/// Decodes one zstd frame into exactly `raw`; on error says what is wrong with it.
///
/// The frame's form is checked first, so that the decoder writes only to `raw` and needs no window of its own.
pub(crate) fn decompress(stored: &[u8], raw: &mut [u8], dictionary: Option<&PreparedDictionary>) -> Result<(), String> {
    check_zstd_frame(stored, raw.len() as u32).map_err(|error| error.to_string())?;
    let failed = |code| zstd_safe::get_error_name(code).to_owned();
    match zstd_safe::find_frame_compressed_size(stored) {
        Ok(length) if length == stored.len() => {}
        Ok(length) => return Err(format!("one zstd frame of {} bytes expected, it ends after {length}", stored.len())),
        Err(code) => return Err(failed(code)),
    }
    DECODER.with_borrow_mut(|decoder| {
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => decoder.insert(DCtx::try_create().ok_or("no memory for a zstd decoder")?),
        };
        let length = match dictionary {
            Some(dictionary) => decoder.decompress_using_ddict(raw, stored, &dictionary.0),
            None => decoder.decompress(raw, stored),
        };
        match length {
            Ok(length) if length == raw.len() => Ok(()),
            Ok(length) => Err(format!("{} raw bytes expected, got {length}", raw.len())),
            Err(code) => Err(failed(code)),
        }
    })
}

/// How payloads are compressed from now on.
#[derive(Clone)]
pub(crate) struct Compression {
    /// Level of zstd.
    pub(crate) level: i32,
    /// The dictionary of the file, where there is one: all kinds of payloads gain from it.
    pub(crate) dictionary: Option<Arc<[u8]>>,
}

impl Default for Compression {
    fn default() -> Self {
        Self { level: LEVEL, dictionary: None }
    }
}

/// A compressor and its output, both kept from payload to payload.
pub(crate) struct PayloadCompressor {
    compression: Compression,
    /// Made when first needed.
    context: Option<Compressor<'static>>,
    /// The last output.
    out: Vec<u8>,
}

impl PayloadCompressor {
    /// A compressor that costs nothing until it is used.
    pub(crate) fn new() -> Self {
        Self { compression: Compression::default(), context: None, out: Vec::new() }
    }

    /// Compresses otherwise from now on.
    pub(crate) fn set(&mut self, compression: Compression) {
        self.compression = compression;
        self.context = None;
    }

    /// How it compresses.
    pub(crate) fn compression(&self) -> &Compression {
        &self.compression
    }

    /// The payload as one zstd frame, and with what codec; None where storing it is smaller or the format's expansion
    /// bound asks for it.
    pub(crate) fn compress(&mut self, kind: BlockKind, raw: &[u8]) -> Option<(Codec, &[u8])> {
        let mut of_dictionary = None;
        let (codec, context) = if kind == BlockKind::Dictionary {
            (Codec::Zstd, of_dictionary.insert(Compressor::new(DICTIONARY_LEVEL).ok()?))
        } else {
            let Compression { level, dictionary } = &self.compression;
            if self.context.is_none() {
                let mut context = match dictionary {
                    Some(dictionary) => Compressor::with_dictionary(*level, dictionary).ok()?,
                    None => Compressor::new(*level).ok()?,
                };
                context.set_parameter(CParameter::DictIdFlag(false)).ok()?;
                self.context = Some(context);
            }
            let codec = if dictionary.is_some() { Codec::ZstdWithDictionary } else { Codec::Zstd };
            (codec, self.context.as_mut()?)
        };
        self.out.clear();
        self.out.reserve(zstd_safe::compress_bound(raw.len()));
        context.compress_to_buffer(raw, &mut self.out).ok()?;
        let (stored, raw_bytes) = (self.out.len() as u64, raw.len() as u64);
        let fits = stored < raw_bytes && stored * EXPANSION_RATIO + EXPANSION_SLACK_BYTES >= raw_bytes;
        // A frame of another form than the decoder demands is not written; zstd is free to choose it.
        (fits && check_zstd_frame(&self.out, raw.len() as u32).is_ok()).then_some((codec, self.out.as_slice()))
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
            let (codec, stored) = compressor.compress(BlockKind::Text, &raw).expect("prose compresses");
            assert_eq!(codec, Codec::Zstd);
            let mut out = vec![0; length];
            decompress(stored, &mut out, None).unwrap();
            assert_eq!(out, raw);
        }
    }

    #[test]
    fn a_payload_that_would_expand_too_much_or_not_shrink_is_stored() {
        let mut compressor = PayloadCompressor::new();
        assert!(compressor.compress(BlockKind::Text, &[0; 1 << 20]).is_none());
        assert!(compressor.compress(BlockKind::Text, b"short").is_none());
        assert!(compressor.compress(BlockKind::Text, b"").is_none());
    }

    #[test]
    fn a_wrong_length_a_second_frame_and_flipped_bits_are_refused_or_change_the_bytes() {
        let raw = prose(3_000);
        let stored = PayloadCompressor::new().compress(BlockKind::Text, &raw).unwrap().1.to_vec();
        let mut out = vec![0; 3_000];
        assert!(decompress(&stored, &mut out[..2_999], None).is_err());
        assert!(decompress(&stored[..stored.len() - 1], &mut out, None).is_err());
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0];
        assert!(decompress(&[&stored[..], &skippable].concat(), &mut out, None).is_err());
        for bit in 0..stored.len() * 8 {
            let mut bad = stored.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decompress(&bad, &mut out, None);
        }
    }

    /// Texts of 300 KiB with many turns that come again, and a dictionary of them.
    fn trained() -> (Vec<u8>, Vec<u8>) {
        let mut state = 9u32;
        let mut next = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        let turns: Vec<String> =
            (0..2_000).map(|_| (0..4).map(|_| format!("w{:x} ", next(50_000))).collect()).collect();
        let mut texts = Vec::new();
        while texts.len() < 300 << 10 {
            texts.extend_from_slice(turns[next(2_000) as usize].as_bytes());
        }
        let sizes: Vec<usize> = texts.chunks(2_000).map(<[u8]>::len).collect();
        let dictionary = train(&texts, &sizes).unwrap();
        assert_eq!(dictionary, train(&texts, &sizes).unwrap(), "the same texts give the same dictionary");
        (texts, dictionary)
    }

    #[test]
    fn a_dictionary_helps_short_texts_has_the_demanded_form_at_every_size_and_is_needed() {
        let (texts, dictionary) = trained();
        let prepared = PreparedDictionary::new(&dictionary).unwrap();
        for level in [3, 9, 19] {
            let mut compressor = PayloadCompressor::new();
            compressor.set(Compression { level, dictionary: Some(dictionary.as_slice().into()) });
            for length in [60, 255, 256, 300, 3_000, 16_384, 65_536, 70_000, 1 << 17, 300 << 10] {
                let raw = &texts[texts.len() - length..];
                let alone = PayloadCompressor::new().compress(BlockKind::Text, raw).map_or(length, |c| c.1.len());
                let (codec, stored) = compressor.compress(BlockKind::Text, raw).expect("texts compress");
                assert_eq!(codec, Codec::ZstdWithDictionary);
                assert!(length > 16_384 || stored.len() * 10 < alone * 9, "{} of {alone} bytes", stored.len());
                let mut out = vec![0; length];
                decompress(stored, &mut out, Some(&prepared)).unwrap();
                assert!(out == raw);
                let lost = decompress(stored, &mut out, None);
                assert!(lost.is_err() || out != raw, "{length} bytes need no dictionary");
            }
        }
        let mut compressor = PayloadCompressor::new();
        compressor.set(Compression { level: 3, dictionary: Some(dictionary.as_slice().into()) });
        assert_eq!(compressor.compress(BlockKind::Dictionary, &dictionary).unwrap().0, Codec::Zstd);
    }

    #[test]
    fn bytes_that_are_no_dictionary_and_frames_that_do_not_fit_it_are_refused_or_change_the_bytes() {
        let (texts, dictionary) = trained();
        let mut compressor = PayloadCompressor::new();
        compressor.set(Compression { level: 3, dictionary: Some(dictionary.as_slice().into()) });
        let raw = &texts[..2_000];
        let stored = compressor.compress(BlockKind::Text, raw).unwrap().1.to_vec();
        let mut out = vec![0; raw.len()];
        for cut in [0, 7, 8, 20, 100, dictionary.len() / 2] {
            if let Some(other) = PreparedDictionary::new(&dictionary[..cut]) {
                let _ = decompress(&stored, &mut out, Some(&other));
            }
        }
        for byte in 0..dictionary.len().min(600) {
            let mut bad = dictionary.clone();
            bad[byte] ^= 0x55;
            if let Some(other) = PreparedDictionary::new(&bad) {
                let _ = decompress(&stored, &mut out, Some(&other));
            }
        }
        let prepared = PreparedDictionary::new(&dictionary).unwrap();
        for bit in 0..stored.len() * 8 {
            let mut bad = stored.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = decompress(&bad, &mut out, Some(&prepared));
        }
    }

    #[test]
    fn too_few_texts_train_nothing() {
        assert!(train(b"a few words", &[11]).is_none());
        assert!(train(&vec![b'a'; TRAINED_BYTES], &[1, 2]).is_none(), "sizes that do not fit");
        let same = vec![b'a'; TRAINED_BYTES];
        let sizes = vec![1 << 10; TRAINED_BYTES >> 10];
        let _ = train(&same, &sizes);
    }
}
