//! Texts that wait to be written, and the blocks that they fill.
//!
//! Until the index has a dictionary, texts wait until there are enough to train one; then, and whenever a block's worth
//! has come, they are written. All that a reader sees of it is the codec of a block.

use super::view::inconsistent;
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

/// That texts lie in the order of their chunks' ids, without overlap, as every writer puts them. So a walk over texts
/// reads no more than there is, whatever rows say.
#[derive(Debug, Default)]
pub(crate) struct TextOrder {
    /// The block of the row before, and where its text ends.
    before: (u64, u64),
}

impl TextOrder {
    /// Takes the row of the next chunk.
    pub(crate) fn follow(&mut self, row: &TextRow) -> Result<()> {
        let start = (row.block.offset, u64::from(row.offset));
        if start < self.before {
            return Err(inconsistent(format!(
                "the text of chunk {} starts before that of an earlier chunk ends",
                row.chunk
            )));
        }
        self.before = (start.0, start.1 + bytes_of(row) as u64);
        Ok(())
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

#[cfg(test)]
mod tests {
    use crate::{Error, Index, Limits, NewChunk, Options, ReadOptions, SourceKind, Writer};
    use plica_format::block::{BlockKind, HEADER_BYTES};

    /// Some 380 KB of texts with turns that come again, one commit.
    fn write(path: &std::path::Path) -> String {
        let mut writer = Writer::create(path, &Options::new()).unwrap();
        writer.add_document("a", "", "").unwrap();
        let mut whole = String::new();
        for at in 0..200u32 {
            let text: String = (0..400).map(|n| format!("w{} ", (at * 7 + n * n * (at % 3)) % 900)).collect();
            writer.append_chunk("a", &NewChunk::text(&text)).unwrap();
            whole.push_str(&text);
        }
        writer.publish("a").unwrap();
        writer.commit().unwrap();
        whole
    }

    #[test]
    fn texts_with_a_dictionary_read_back_by_every_source_and_after_a_rollback() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut writer = Writer::create(&path, &Options::new()).unwrap();
        writer.add_document("a", "", "").unwrap();
        let text = |at: u32| (0..500).map(|n| format!("w{} ", (at * 7 + n * n) % 900)).collect::<String>();
        let fill = |writer: &mut Writer| {
            for at in 0..200 {
                writer.append_chunk("a", &NewChunk::text(&text(at))).unwrap();
            }
            writer.flush().unwrap();
            assert!(writer.state.dictionary.is_some());
        };
        writer.commit().unwrap();
        fill(&mut writer);
        writer.rollback().unwrap();
        assert_eq!((writer.state.dictionary, writer.compresses_with), (None, None));
        fill(&mut writer);
        writer.publish("a").unwrap();
        writer.commit().unwrap();
        drop(writer);
        let mut writer = Writer::open(&path).unwrap();
        writer.append_chunk("a", &NewChunk::text(&text(7))).unwrap();
        writer.commit().unwrap();
        let whole: String = (0..200).chain([7]).map(text).collect();
        for source in [SourceKind::Map, SourceKind::Positioned] {
            let snapshot = Index::open_with(&path, &ReadOptions::new().source(source)).unwrap().snapshot();
            assert!(snapshot.text("a").unwrap() == whole);
            assert!(snapshot.check(&Limits::default()).unwrap().findings.is_empty());
            let structures = snapshot.stat().unwrap().bytes.structures;
            assert!(structures["text"] + structures["dictionary"] < whole.len() as u64 / 2, "{structures:?}");
        }
    }

    #[test]
    fn a_damaged_dictionary_is_noticed_before_a_text_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let whole = write(&path);
        let snapshot = Index::open(&path).unwrap().snapshot();
        let dictionary = snapshot.view().state.dictionary.unwrap();
        assert_eq!(dictionary.kind, BlockKind::Dictionary);
        assert!(snapshot.text("a").unwrap() == whole);
        let sound = std::fs::read(&path).unwrap();
        for at in (0..dictionary.stored_bytes as usize).step_by(997).chain([0, 1, 4, 8]) {
            let mut bad = sound.clone();
            bad[dictionary.offset as usize + HEADER_BYTES + at] ^= 1;
            let snapshot = Index::from_bytes(bad).unwrap().snapshot();
            assert!(matches!(snapshot.text("a"), Err(Error::Damaged { .. })), "byte {at}");
            assert!(!snapshot.check(&Limits::default()).unwrap().findings.is_empty());
        }
    }
}
