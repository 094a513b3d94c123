//! Texts that wait to be written, and the blocks that they fill.
//!
//! Until the index has a dictionary, texts wait until there are enough to train one; then, and whenever a block's worth
//! has come, they are written. All that a reader sees of it is the codec of a block.

use super::writer::Writer;
use crate::store::{self, Compression};
use crate::{Error, Result};
use plica_format::block::BlockKind;
use plica_format::chunk::TextRow;

/// A text block is closed when its texts reach this many bytes: zstd gains little from more, and a read decodes it all.
pub(super) const TEXT_BLOCK_BYTES: usize = 16 << 10;

/// Texts that wait.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    pub(super) raw: Vec<u8>,
    /// Rows without their block, in the order of the bytes.
    pub(super) rows: Vec<TextRow>,
}

impl TextBuffer {
    /// The row of a chunk that waits.
    pub(super) fn row(&self, chunk: u32) -> Option<&TextRow> {
        let at = self.rows.partition_point(|row| row.chunk < chunk);
        self.rows.get(at).filter(|row| row.chunk == chunk)
    }

    /// Title and text of a row.
    pub(super) fn read(&self, row: &TextRow) -> Result<(String, String)> {
        let start = row.offset as usize;
        let middle = start + row.title_bytes as usize;
        let end = middle + row.text_bytes as usize;
        let read = |range| self.raw.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned);
        read(start..middle).zip(read(middle..end)).ok_or(Error::Unusable {
            reason: "the texts that wait to be written do not fit their rows; drop this writer and open another",
        })
    }
}

/// Bytes of a row's title and text.
fn bytes_of(row: &TextRow) -> usize {
    row.title_bytes as usize + row.text_bytes as usize
}

impl Writer {
    /// Writes the texts that wait, if they are as many as may wait.
    pub(super) fn write_texts_if_many(&mut self) -> Result<()> {
        let most = if self.state.dictionary.is_some() { TEXT_BLOCK_BYTES } else { store::TRAINED_BYTES_MOST };
        if self.texts.raw.len() >= most { self.write_texts() } else { Ok(()) }
    }

    /// Writes the texts that wait, in blocks of whole chunks.
    pub(super) fn write_texts(&mut self) -> Result<()> {
        if self.texts.rows.is_empty() {
            return Ok(());
        }
        let texts = std::mem::take(&mut self.texts);
        self.train_dictionary(&texts)?;
        self.follow_dictionary()?;
        let (mut first, mut start, mut end) = (0, 0, 0);
        for (at, row) in texts.rows.iter().enumerate() {
            end += bytes_of(row);
            if end - start < TEXT_BLOCK_BYTES && at + 1 < texts.rows.len() {
                continue;
            }
            let raw = texts.raw.get(start..end).unwrap_or_default();
            let block = self.store.append(BlockKind::Text, raw, true)?;
            for row in texts.rows.get(first..=at).unwrap_or_default() {
                self.delta.put_text(TextRow { block, offset: row.offset - start as u32, ..row.clone() });
            }
            (first, start) = (at + 1, end);
        }
        self.refresh_dictionary()
    }

    /// Trains the dictionary of the index with texts, where it has none and they are enough.
    fn train_dictionary(&mut self, texts: &TextBuffer) -> Result<()> {
        if self.state.dictionary.is_some() || texts.raw.len() < store::TRAINED_BYTES {
            return Ok(());
        }
        let sizes: Vec<usize> = texts.rows.iter().map(bytes_of).collect();
        if let Some(dictionary) = store::train(&texts.raw, &sizes) {
            self.set_dictionary(&dictionary)?;
        }
        Ok(())
    }

    /// Writes a dictionary that [`store::train`] gave, as the one of the next commit. An index has one at most.
    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> Result<()> {
        if self.state.dictionary.is_some() {
            return Err(Error::invalid(
                "an index has one dictionary, and this one has it already; vacuum trains another",
            ));
        }
        self.state.dictionary = Some(self.store.append(BlockKind::Dictionary, dictionary, true)?);
        self.follow_dictionary()
    }

    /// Makes the store compress with the dictionary of the state.
    pub(super) fn follow_dictionary(&mut self) -> Result<()> {
        if self.compresses_with != self.state.dictionary {
            let dictionary = match &self.state.dictionary {
                Some(reference) => Some(self.store.blocks()?.read(reference)?.as_ref().into()),
                None => None,
            };
            self.store.set_compression(Compression { dictionary, ..self.store.compression().clone() });
            self.compresses_with = self.state.dictionary;
        }
        Ok(())
    }

    /// Compresses what is written from now on with this level of zstd, 3 where nothing is said: higher levels take longer.
    pub(crate) fn compress_with_level(&mut self, level: i32) {
        if self.store.compression().level != level {
            self.store.set_compression(Compression { level, ..self.store.compression().clone() });
        }
    }
}
